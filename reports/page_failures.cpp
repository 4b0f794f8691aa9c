// The cells that do not hold, each with its first divergence and the command that runs it again.
#include <algorithm>

#include "reports/page_parts.hpp"
#include "reports/ulp_plot.hpp"
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

PageData environment_data(const std::vector<MachineDifference>& differences) {
  PageData rows = page_list();
  for (const MachineDifference& value : differences) {
    PageData row;
    row.set("key", page_text(value.key));
    row.set("reference", page_text(value.reference));
    row.set("candidate", page_text(value.candidate));
    rows.push_back(row);
  }
  return rows;
}

/// What the records and the launch tell beside the verdict.
void add_evidence(PageData& card, const CellVerdict& cell, const Evidence& evidence) {
  const auto run = evidence.cells.find(cell.id);
  const bool bits_differ =
      cell.first_divergence && cell.first_divergence->rung != "completion" && run != evidence.cells.end();
  const auto differences = bits_differ ? run->second.environment : std::vector<MachineDifference>{};
  card.set("environment_same", PageData(bits_differ && differences.empty()));
  card.set("has_environment", PageData(!differences.empty()));
  card.set("environment", environment_data(differences));
  PageData spread(false), ratios(false);
  if (run != evidence.cells.end() && !run->second.spread.nothing()) {
    spread = PageData("svg", PageData(draw_spread(run->second.spread, "Where it differs, " + cell.id)));
    spread.set("equal", grouped(run->second.spread.equal_rows));
  }
  if (run != evidence.cells.end() && run->second.ratios.compared > 0 && !run->second.ratios.all_one()) {
    ratios = PageData("svg", PageData(draw_gradient_ratios({{cell.id, run->second.ratios}},
                                                           "Gradient norms over the reference's, " + cell.id)));
  }
  card.set("spread", spread);
  card.set("ratios", ratios);
  const auto launch = evidence.launches.find(cell.id);
  const LaunchEvidence left = launch == evidence.launches.end() ? LaunchEvidence{} : launch->second;
  card.set("has_ran", PageData(!left.command.empty()));
  card.set("ran", page_text(left.command));
  card.set("has_error_end", PageData(!left.error_end.empty()));
  card.set("error_end", page_text(left.error_end));
}

PageData fingerprint_data(const Fingerprint& found) {
  PageData data;
  data.set("name", page_text(found.name));
  data.set("words", page_text(found.words));
  data.set("evidence", page_text(found.evidence));
  data.set("suggests", page_text(found.suggests));
  return data;
}

/// What the dumped values look like, with the cause that suggests.
PageData values_data(const CellVerdict& cell) {
  if (!cell.values) return PageData(false);
  const ValueFindings& values = *cell.values;
  PageData fingerprints = page_list(), data;
  for (const Fingerprint& found : values.fingerprints) fingerprints.push_back(fingerprint_data(found));
  data.set("heading",
           values.fingerprints.size() > 1 ? "What it looks like; several causes fit:" : "What it looks like:");
  data.set("step", values.step < 0 ? "initial" : std::to_string(values.step));
  data.set("fingerprints", fingerprints);
  data.set("otherwise", values.fingerprints.empty() ? PageData("text", page_text(values.otherwise)) : PageData(false));
  const std::string svg = draw_ulps(values.ulps, "Units in the last place, " + cell.id);
  PageData ulps(false);
  if (!svg.empty()) {
    ulps = PageData("svg", PageData(svg));
    ulps.set("caption", page_text("Elements of " + values.tensor + " by how many units in the last place they are off" +
                                  (values.not_numbers > 0 ? "; " + count_text(values.not_numbers, "element") +
                                                                " more are NaN in one of the two"
                                                          : "") +
                                  ". Logarithmic."));
  }
  data.set("ulps", ulps);
  return data;
}

PageData failure_card(const CellVerdict& cell, const Evidence& evidence) {
  PageData card;
  add_evidence(card, cell, evidence);
  card.set("values", values_data(cell));
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

void fill_failures(PageData& page, const Verdict& verdict, const Evidence& evidence) {
  PageData cards = page_list(), rows = page_list();
  std::size_t failing = 0;
  for (const auto& cell : verdict.cells) {
    if (cell.holds) continue;
    if (failing++ < most_open) {
      cards.push_back(failure_card(cell, evidence));
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
