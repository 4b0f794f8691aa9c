// The cells that do not hold, each with its first divergence and the command that runs it again.
#include <algorithm>

#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// The rest is folded to one row each: a page with hundreds of open cards helps nobody.
constexpr std::size_t most_open = 12;

std::string known(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "-";
}
std::string known(const std::string& text) {
  return text.empty() ? "-" : text;
}

PageData divergence_data(const FirstDivergence& divergence) {
  PageData data;
  data.set("words", page_text(divergence.words.empty() ? place_text(divergence) : divergence.words));
  data.set("rung", page_text(known(divergence.rung)));
  data.set("step", divergence.step < 0 ? "initial" : std::to_string(divergence.step));
  data.set("microbatch", known(divergence.microbatch));
  data.set("stage", known(divergence.stage));
  data.set("rank", known(divergence.rank));
  data.set("direction", page_text(known(divergence.direction)));
  data.set("item", page_text(known(divergence.item)));
  data.set("expected", page_text(known(divergence.expected)));
  data.set("got", page_text(known(divergence.got)));
  data.set("size", page_text(known(divergence.size)));
  return data;
}

/// Checks that say the same are one line: a run that broke off leaves a dozen of them.
struct Reason {
  std::vector<std::string> checks;
  Outcome outcome;
  std::string reason, place;
};

std::vector<Reason> merged_reasons(const CellVerdict& cell) {
  std::vector<Reason> all;
  for (const auto& check : cell.checks) {
    if (!stands_in_the_way(check)) continue;
    const std::string place = check.first_divergence ? place_text(*check.first_divergence) : "";
    const bool same = !all.empty() && all.back().outcome == check.outcome && all.back().reason == check.reason &&
                      all.back().place == place;
    if (!same) all.push_back({{}, check.outcome, check.reason, place});
    all.back().checks.push_back(check.name);
  }
  return all;
}

PageData reasons(const CellVerdict& cell) {
  PageData list = page_list();
  for (const auto& reason : merged_reasons(cell)) {
    PageData entry;
    entry.set("name", page_text(join(reason.checks, ", ")));
    entry.set("outcome", outcome_words(reason.outcome));
    entry.set("has_reason", PageData(!reason.reason.empty()));
    entry.set("reason", page_text(reason.reason));
    entry.set("has_place", PageData(!reason.place.empty()));
    entry.set("place", page_text(reason.place));
    list.push_back(entry);
  }
  return list;
}

std::string second_run_text(const SecondRun& second) {
  const std::string words = second.words.empty() ? "" : ": " + second.words;
  switch (second.outcome) {
    case SecondRun::Outcome::fails_again:
      return "it fails again" + words;
    case SecondRun::Outcome::holds:
      return "it held. The cell is unstable" + words;
    case SecondRun::Outcome::not_done:
      break;
  }
  return "this was not done" + words;
}

PageData failure_card(const CellVerdict& cell) {
  PageData card;
  card.set("title", page_text(cell_title(cell)));
  card.set("id", page_text(cell.id));
  card.set("divergence", cell.first_divergence ? divergence_data(*cell.first_divergence) : PageData(false));
  card.set("reasons", reasons(cell));
  card.set("has_second_run", PageData(cell.second_run.has_value()));
  card.set("second_run", page_text(cell.second_run ? second_run_text(*cell.second_run) : ""));
  card.set("has_command", PageData(!cell.command.empty()));
  card.set("command", page_text(cell.command));
  return card;
}

PageData failure_row(const CellVerdict& cell) {
  std::vector<std::string> names;
  for (const auto& check : cell.checks) {
    if (stands_in_the_way(check)) names.push_back(check.name + " " + outcome_words(check.outcome));
  }
  std::string what = join(names, ", ");
  if (cell.unstable()) what = "unstable: " + what;
  if (cell.first_divergence) what += "; first at " + place_text(*cell.first_divergence);
  PageData row;
  row.set("title", page_text(cell_title(cell)));
  row.set("what", page_text(what));
  row.set("command", page_text(cell.command));
  return row;
}

}  // namespace

void fill_failures(PageData& page, const Verdict& verdict) {
  PageData cards = page_list(), rows = page_list();
  std::size_t failing = 0;
  for (const auto& cell : verdict.cells) {
    if (cell.holds) continue;
    if (failing++ < most_open) {
      cards.push_back(failure_card(cell));
    } else {
      rows.push_back(failure_row(cell));
    }
  }
  page.set("has_failures", PageData(failing > 0));
  page.set("failures", cards);
  page.set("has_more_failures", PageData(failing > most_open));
  page.set("more_count", grouped(static_cast<std::int64_t>(failing - std::min(failing, most_open))));
  page.set("more_failures", rows);
}

}  // namespace plumbline
