// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/judge/changed_records.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "harness/commands/compare.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"
#include "tests/approved.hpp"
#include "tests/changed_json.hpp"
#include "tests/harness/judge/sample_cells.hpp"
#include "tests/record_changes.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

LaunchFinding launch_of(const Json& json) {
  Json whole = to_json(LaunchFinding{});
  whole.update(json);
  const TemporaryFolder folder;
  write_json(folder / "finding.json", whole);
  return read_launch_finding(folder / "finding.json");
}

void change_plan(CellPlan& plan, const Json& json) {
  for (const auto& [key, value] : json.items()) {
    if (key == "checks")
      plan.checks = value.get<Words>();
    else if (key == "accept_missing")
      plan.accept_missing = value.get<Words>();
    else if (key == "clipping")
      plan.clipping_must_act = value.get<bool>();
    else if (key == "bench")
      plan.bench = value.get<bool>();
    else if (key == "repeat")
      plan.repeat = value.get<bool>();
    else if (key == "lengths")
      plan.lengths = value.get<std::vector<std::int64_t>>();
    else if (key == "schedule")
      plan.schedule = value.get<std::string>();
    else if (key == "schedule_csv")
      plan.schedule_csv = value.get<std::string>();
    else if (key == "launch")
      plan.launch = launch_of(value);
    else if (key == "reference_launch")
      plan.reference_launch = launch_of(value);
    else if (key == "repeat_launch")
      plan.repeat_launch = launch_of(value);
    else
      ADD_FAILURE() << "no such setting of a case: " << key;
  }
}

/// Replaces "./" by `folder` in paths.
void change_request(std::optional<Request>& request, std::string change, const fs::path& folder) {
  if (const auto at = change.find("\"./"); at != std::string::npos) change.replace(at + 1, 1, folder.string());
  if (!request) request.emplace();
  request = request_from_json(changed(to_json(*request), change), "request.json");
}

/// A check's result as lines; with `figures`, all of its numbers.
std::string text_of(const CheckResult& check, bool figures) {
  const bool optional = check.outcome == Outcome::incomplete && !check.required;
  std::string text = to_text(check.outcome) + (optional ? " (not required): " : ": ") + reason_words(check);
  for (const auto& gap : check.not_shown) text += "\n  not shown: " + gap;
  if (check.outcome == Outcome::holds && !check.compared.empty())
    text += "\n  compared: " + Json(check.compared).dump();
  if (figures && !check.inspected.empty()) text += "\n  inspected: " + Json(check.inspected).dump();
  if (figures && !check.evidence.empty()) text += "\n  evidence: " + Json(check.evidence).dump();
  if (figures && !check.predicted_peak_bytes.empty())
    text += "\n  predicted peaks: " + Json(check.predicted_peak_bytes).dump();
  if (check.outcome == Outcome::holds && check.margin) text += "\n  margin " + to_text(*check.margin);
  return text;
}

std::string place_of(const Finding& finding) {
  std::string text = finding.level + " step=" + std::to_string(finding.step);
  const auto add = [&](const char* name, const auto& value) {
    if (value) text += std::string(" ") + name + "=" + std::to_string(*value);
  };
  add("microbatch", finding.microbatch);
  add("stage", finding.stage);
  add("rank", finding.rank);
  add("replica", finding.replica);
  if (!finding.direction.empty()) text += " " + finding.direction;
  text += " item=" + finding.item;
  if (finding.words.find(finding.got) == std::string::npos)
    text += " expected=" + finding.expected + " got=" + finding.got;
  return text;
}

CellVerdict judge_files(const SampleCell& cell) {
  std::optional<fs::path> again;
  if (cell.repeated || !cell.again.empty()) again = cell.folder / "repeated";
  return judge_cell(cell.plan, cell.folder / "reference", cell.folder / "candidate", again);
}

const CellVerdict& unchanged(const std::string& start) {
  static std::map<std::string, CellVerdict> all;
  if (!all.contains(start)) {
    const auto cell = sample_cell(start);
    write_files(*cell);
    all[start] = judge_files(*cell);
  }
  return all[start];
}

}  // namespace

std::string verdict_text(const CellVerdict& verdict, const CellVerdict* unchanged) {
  std::string text = verdict.holds ? "holds" : verdict.incomplete() ? "incomplete" : "does not hold";
  if (verdict.first_divergence) text += ", first " + place_of(*verdict.first_divergence);
  std::map<std::string, std::string> names_by_text;  // names of checks by their text
  Words order;
  for (std::size_t i = 0; i < verdict.checks.size(); ++i) {
    const std::string answer = text_of(verdict.checks[i], unchanged == nullptr);
    if (unchanged != nullptr && answer == text_of(unchanged->checks.at(i), false)) continue;
    std::string& names = names_by_text[answer];
    if (names.empty()) order.push_back(answer);
    names += (names.empty() ? "" : ", ") + verdict.checks[i].name;
  }
  const std::string words = verdict.first_divergence.value_or(Finding{}).words;
  if (verdict.first_divergence &&
      std::ranges::none_of(order, [&](const auto& answer) { return answer.find(words) != std::string::npos; }))
    text += "\n" + words;
  for (const auto& answer : order) text += "\n" + names_by_text.at(answer) + " " + answer;
  return text;
}

std::string verdict_of_changes(const std::string& changes) {
  static const std::set<std::string> known = {
      "again", "b", "c", "plan", "r", "replay", "reference_request", "report", "request", "requests", "start"};
  std::istringstream lines(changes);
  std::string line, start = "start";
  std::vector<std::string> all;
  while (std::getline(lines, line)) (line.starts_with("start ") ? start : all.emplace_back()) = line;
  const auto cell = sample_cell(start);
  write_files(*cell);
  for (const auto& change : all) {
    const auto space = change.find(' ');
    const std::string what = change.substr(0, space), rest = change.substr(space + 1);
    EXPECT_TRUE(known.contains(what)) << "no such line in a case: " << change;
    if (what == "replay") {
      const std::string norms = read_file(cell->folder / "candidate/rank-0/norms.csv");
      change_record(cell->folder / "reference", "manifest.json /norms_from/digest \"" + hash_hex(norms) + '"');
    }
    if (what == "plan") change_plan(cell->plan, Json::parse(rest));
    if (what == "request" || what == "requests") change_request(cell->plan.request, rest, cell->folder.path());
    if (what == "reference_request" || what == "requests")
      change_request(cell->plan.reference_request, rest, cell->folder.path());
    if (what == "r" || what == "b") change_record(cell->folder / "reference", rest);
    if (what == "c" || what == "b") change_record(cell->folder / "candidate", rest);
    if (what == "again") change_record(cell->folder / "repeated", rest);
  }
  CellVerdict verdict;
  try {
    verdict = judge_files(*cell);
  } catch (const InputError& error) {
    return in_folder(cell->folder, error.what());
  }
  std::string text = verdict_text(verdict, all.empty() ? nullptr : &unchanged(start));
  if (std::ranges::find(all, "report") != all.end()) text = comparison_text(verdict) + text;
  return in_folder(cell->folder, text);
}

}  // namespace plumbline::testing
