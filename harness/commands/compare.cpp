#include "harness/commands/compare.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "harness/judge/judge_records.hpp"
#include "support/error.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

judging::RecordReading read_or_throw(const std::filesystem::path& path, const std::string& whose) {
  if (!std::filesystem::is_directory(path)) {
    throw InputError(path.string() + " (the " + whose + ") is no folder; give the folder that holds manifest.json");
  }
  judging::RecordReading reading{path, read_record(path), ""};
  return reading;
}

std::string text_or(const Json& json, const char* key, const std::string& fallback) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : fallback;
}

CellPlan plan_of(const Manifest& candidate) {
  CellPlan plan;
  plan.id = "compare";
  plan.run = candidate.run_id;
  plan.model = text_or(candidate.json.at("model"), "model_type", "llama");
  plan.schedule = candidate.schedule_name;
  plan.optimizer = text_or(candidate.json.at("optimizer"), "name", "");
  plan.world = candidate.world_size;
  return plan;
}

/// What an unplanned run need not show. Level summary or none is asked for by whoever wrote the record, and stays
/// required.
bool may_be_missing(const CheckResult& check, bool external) {
  if (check.outcome == Outcome::not_triggered) return true;
  const bool needs_own_tables = check.name == "memory" || check.name == "conformance";
  return external && needs_own_tables && check.outcome == Outcome::not_run;
}

Verdict verdict_of(const CellVerdict& cell) {
  Verdict verdict;
  verdict.name = "compare";
  verdict.started = now_text();
  verdict.holds = cell.holds;
  verdict.machine = Json::object();
  verdict.counts = {
      {"cells", 1}, {"cells_holding", cell.holds ? 1 : 0}, {"checks", static_cast<std::int64_t>(cell.checks.size())}};
  for (const auto& check : cell.checks) {
    for (const char* what : {"tensors", "elements"}) {
      const auto found = check.looked_at.find(what);
      verdict.counts[what] += found == check.looked_at.end() ? 0 : found->second;
    }
    if (check.outcome == Outcome::not_run || check.outcome == Outcome::not_triggered) {
      verdict.not_run.push_back(check.name + ": " + check.reason);
    }
  }
  verdict.cells = {cell};
  return verdict;
}

}  // namespace

CellVerdict compare_records(const std::filesystem::path& reference, const std::filesystem::path& candidate,
                            const std::optional<std::filesystem::path>& calibration,
                            const std::optional<std::filesystem::path>& request) {
  const auto one = read_or_throw(reference, "reference"), other = read_or_throw(candidate, "candidate");
  const bool external = one.record->manifest.role == "external" || other.record->manifest.role == "external";
  CellPlan plan = plan_of(other.record->manifest);
  plan.command = "plumbline compare " + reference.string() + " " + candidate.string() +
                 (calibration ? " --calibration " + calibration->string() : "") +
                 (request ? " --request " + request->string() : "");
  plan.calibration = calibration;
  if (request) plan.request = read_request(*request);
  CellVerdict verdict = judging::judge_in_tier(plan, one, other, nullptr);
  const bool comparable = std::none_of(verdict.checks.begin(), verdict.checks.end(), [](const auto& check) {
    return check.outcome == Outcome::fails && (check.name == "completion" || check.name == "data");
  });
  for (auto& check : verdict.checks)
    check.required = check.required && !(comparable && may_be_missing(check, external));
  verdict.holds = judging::all_required_hold(verdict);
  return verdict;
}

std::string comparison_text(const CellVerdict& cell) {
  std::size_t widest = 0;
  for (const auto& check : cell.checks) widest = std::max(widest, check.name.size());
  std::string text;
  std::int64_t open = 0;
  for (const auto& check : cell.checks) {
    const std::string outcome = to_text(check.outcome);
    const bool shown_only = !check.required && check.outcome != Outcome::holds;
    if (shown_only) ++open;
    text += check.name + std::string(widest + 2 - check.name.size(), ' ') + outcome +
            std::string(16 - std::min<std::size_t>(outcome.size(), 15), ' ') + (shown_only ? "(not required) " : "") +
            check.reason + "\n";
  }
  text += std::string(cell.holds ? "HOLDS" : "DOES NOT HOLD");
  Verdict alone;
  alone.cells = {cell};
  if (within_limits(alone)) text += " (within calibrated limits, not in bits)";
  if (open > 0) text += ", " + std::to_string(open) + " checks could not be run or were not triggered";
  if (cell.first_divergence)
    text += "\nfirst divergence (" + cell.first_divergence->rung + "): " + cell.first_divergence->words;
  return text + "\n";
}

int compare(const std::filesystem::path& reference, const std::filesystem::path& candidate, bool json,
            const std::optional<std::filesystem::path>& calibration,
            const std::optional<std::filesystem::path>& request) {
  const CellVerdict cell = compare_records(reference, candidate, calibration, request);
  std::cout << (json ? json_text(to_json(verdict_of(cell)), 2) + "\n" : comparison_text(cell)) << std::flush;
  return static_cast<int>(cell.holds ? ExitCode::holds : ExitCode::does_not_hold);
}

}  // namespace plumbline
