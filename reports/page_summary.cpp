// SPDX-License-Identifier: BSD-3-Clause
// The first screen: verdict, counts, what was not run; commit, time, machine, and selection of the sweep.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/headline.hpp"
#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

constexpr std::size_t most_in_first_screen = 4;

struct Tally {
  std::int64_t asked = 0, not_asked = 0;     ///< checks
  std::map<Outcome, std::int64_t> outcomes;  ///< of the requested ones

  std::int64_t of(Outcome outcome) const {
    const auto found = outcomes.find(outcome);
    return found == outcomes.end() ? 0 : found->second;
  }
};

Tally tally_of(const Verdict& verdict) {
  Tally tally;
  const auto take = [&](const std::vector<CheckResult>& checks) {
    for (const auto& check : checks) {
      if (!asked_for(verdict, check)) {
        ++tally.not_asked;
        continue;
      }
      ++tally.asked;
      ++tally.outcomes[check.outcome];
    }
  };
  for (const auto& reference : verdict.references) take(reference.checks);
  for (const auto& cell : verdict.cells) take(cell.checks);
  return tally;
}

PageData tiles(const Verdict& verdict, const Tally& tally) {
  PageData list = page_list();
  const auto add = [&](const std::string& value, const std::string& label) {
    list.push_back(page_row({{"value", value}, {"label", label}}));
  };
  const auto of = [](std::int64_t part, std::int64_t whole) {
    return fmt::format("{} / {}", grouped(part), grouped(whole));
  };
  const auto holding = std::ranges::count_if(verdict.cells, [](const CellVerdict& cell) { return cell.holds; });
  const auto& selection = verdict.selection;
  add(of(holding, std::ssize(verdict.cells)),
      selection.cells < selection.of_cells ? fmt::format("cases hold, of {} in the sweep", grouped(selection.of_cells))
                                           : "cases hold");
  add(of(tally.of(Outcome::holds), tally.asked - tally.of(Outcome::does_not_apply)),
      tally.not_asked > 0 ? fmt::format("checks hold, {} not requested", grouped(tally.not_asked)) : "checks hold");
  for (const auto& [what, label] : {std::pair{"tensors", "tensors compared"}, {"elements", "elements compared"}}) {
    const auto count = verdict.compared.find(what);
    add(grouped(count == verdict.compared.end() ? 0 : count->second), label);
  }
  add(grouped(std::ssize(verdict.not_run)), "cases not run");
  add(grouped(tally.of(Outcome::incomplete) + tally.not_asked), "checks incomplete");
  return list;
}

std::string all_counts(const Verdict& verdict) {
  std::string text = counts_text(verdict.counts);
  if (!verdict.compared.empty()) text += ". Compared: " + counts_text(verdict.compared);
  if (!verdict.inspected.empty()) text += ". Inspected: " + counts_text(verdict.inspected);
  return text;
}

/// Checks without a result, grouped by reason, so that a hundred cases with one reason are one row.
PageData skipped(const Verdict& verdict) {
  std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> rows;
  for (const auto& cell : verdict.cells) {
    for (const auto& check : cell.checks) {
      for (const auto& words : check.not_shown) ++rows[{check.name, "not covered", words}];
      if (check.outcome == Outcome::holds || check.outcome == Outcome::differs) continue;
      ++rows[{check.name, outcome_and_weight(check), reason_words(check)}];
    }
  }
  PageData list = page_list();
  for (const auto& [key, count] : rows) {
    const auto& [check, outcome, why] = key;
    list.push_back(page_row({{"check", check}, {"outcome", outcome}, {"why", why}, {"cells", grouped(count)}}));
  }
  return list;
}

std::string text_at(const Json& object, const char* part, const char* key) {
  if (!object.is_object() || !object.contains(part) || !object.at(part).is_object()) return "";
  const Json value = object.at(part).value(key, Json());
  return value.is_null() ? "" : unquoted(value);
}

/// "c8a733c74d93 (clean)".
std::string commit_words(const std::string& commit) {
  constexpr std::string_view dirty = "-dirty";
  if (commit.empty()) return "unknown: built outside a checkout";
  if (commit.ends_with(dirty)) return commit.substr(0, commit.size() - dirty.size()) + " with uncommitted changes";
  return commit + " (clean)";
}

std::string commit_fact(const Verdict& verdict) {
  if (!verdict.harness.is_object() || !verdict.harness.contains("commit")) return "not known";
  const std::string judge = harness_text(verdict, "commit").value_or("");
  const Json behind = verdict.harness.value("behind_head", Json());
  const std::string distance =
      behind.is_number_integer() && !judge.empty() && behind.get<std::int64_t>() > 0
          ? fmt::format(", {} behind the checkout's HEAD", count_text(behind.get<std::int64_t>(), "commit"))
          : "";
  const std::string trainers = text_at(verdict.machine, "versions", "commit");
  if (trainers.empty() || trainers == judge) return commit_words(judge) + distance;
  return fmt::format("trainers {}, judge {}{}", commit_words(trainers), commit_words(judge), distance);
}

std::string device_fact(const Verdict& verdict) {
  std::vector<std::string> parts;
  if (verdict.machine.is_object() && verdict.machine.contains("device") && verdict.machine.at("device").is_string())
    parts.push_back(verdict.machine.at("device").get<std::string>());
  for (const char* key : {"cpu_model", "cpu", "aten_capability", "isa"}) {
    if (const auto text = text_at(verdict.machine, "machine", key); !text.empty()) parts.push_back(text);
  }
  if (const auto cores = text_at(verdict.machine, "machine", "cores"); !cores.empty())
    parts.push_back(cores + " cores");
  for (const auto& [key, name] : {std::pair{"libtorch", "LibTorch "}, std::pair{"torch", "torch "}}) {
    if (const auto version = text_at(verdict.machine, "versions", key); !version.empty())
      parts.push_back(name + version);
  }
  return parts.empty() ? "not known" : join(parts, ", ");
}

}  // namespace

void fill_summary(PageData& page, const Verdict& verdict) {
  const Tally tally = tally_of(verdict);
  const std::string name = verdict.name.empty() ? "sweep" : verdict.name;
  page.set("title", page_text(fmt::format("{} - {} - Plumbline", headline(verdict), name)));
  page.set("word", page_text(verdict_word(verdict)));
  page.set("mark", verdict_sign(verdict));
  page.set("band", verdict.holds ? "" : is_incomplete(verdict) ? " incomplete" : " bad");
  page.set("lead", page_text(claim(verdict)));
  page.set("tiles", tiles(verdict, tally));
  page.set("has_counts", PageData(!verdict.counts.empty()));
  page.set("all_counts", page_text(all_counts(verdict)));
  set_text(page, "gaps", data_gaps(verdict));
  page.set("ran", page_text(ran_words(verdict) + "."));
  page.set("partial", PageData(verdict.selection.partial()));
  page.set("selected", page_text(selection_words(verdict)));
  const auto not_run = not_run_lines(verdict);
  const std::size_t shown = std::min(not_run.size(), most_in_first_screen);
  set_list(page, "not_run", page_texts(verdict.not_run));
  page.set("not_run_count", grouped(std::ssize(verdict.not_run)));
  page.set("not_run_first", page_texts({not_run.begin(), not_run.begin() + static_cast<std::ptrdiff_t>(shown)}));
  const auto more = static_cast<std::int64_t>(not_run.size() - shown);
  page.set("not_run_more", page_section(more == 0 ? "" : grouped(more), "count"));
  set_list(page, "unfit", page_texts(verdict.not_applicable));
  page.set("unfit_count", grouped(std::ssize(verdict.not_applicable)));
  set_list(page, "skipped", skipped(verdict));
  std::string footer = "Sweep " + (verdict.name.empty() ? std::string("without a name") : verdict.name);
  if (!verdict.started.empty()) footer += ", started " + verdict.started;
  page.set("footer", page_text(footer + "."));
}

void fill_facts(PageData& page, const Verdict& verdict) {
  PageData facts = page_list();
  const auto add = [&](const char* name, const std::string& value) {
    facts.push_back(page_row({{"name", name}, {"value", value}}));
  };
  if (const auto yours = harness_text(verdict, "your_commit")) add("Your commit", commit_words(*yours));
  add("Plumbline", commit_fact(verdict));
  add("Sweep", (verdict.name.empty() ? "without a name" : verdict.name) +
                   (verdict.started.empty() ? "" : ", " + verdict.started));
  add("Machine", device_fact(verdict));
  add("Mode", verdict.comparison_mode == ComparisonMode::bits ? "bits: equal bit for bit"
                                                              : "calibrated: within measured limits, not in bits");
  add("Selection", selection_words(verdict));
  page.set("facts", facts);
}

}  // namespace plumbline
