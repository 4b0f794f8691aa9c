// SPDX-License-Identifier: BSD-3-Clause
#include "harness/baseline/take_baseline.hpp"

#include <algorithm>
#include <optional>

#include "harness/baseline/run_identity.hpp"
#include "harness/baseline/take_run.hpp"
#include "record/verdict.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> outcomes_of(const std::vector<CheckResult>& checks) {
  std::map<std::string, std::string> outcomes;
  for (const CheckResult& check : checks) outcomes[check.name] = to_text(check.outcome);
  return outcomes;
}

const RunBaseline& find(const std::vector<RunBaseline>& runs, const std::string& id, const fs::path& file) {
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const RunBaseline& run) { return run.id == id; });
  if (found == runs.end()) throw InputError(file.string() + ": names a reference that it does not hold: " + id);
  return *found;
}

RunBaseline whole_run(const fs::path& folder, const std::string& id) {
  RunBaseline run = take_run(folder, id);
  if (run.parameters.empty())
    throw InputError(folder.string() + ": its record has no digests of parameters; a baseline needs level full");
  return run;
}

std::string complaint_of(const CellVerdict& cell) {
  if (cell.first_divergence) return cell.first_divergence->words;
  const auto check = std::ranges::find_if(cell.checks, is_blocking);
  return check == cell.checks.end() ? "does not hold" : check->name + ": " + check->reason;
}

/// nullopt for a failing sweep's run without a record; in a passing sweep every record must exist.
std::optional<RunBaseline> run_of(const fs::path& folder, const std::string& id, bool required) {
  try {
    return whole_run(folder, id);
  } catch (const InputError&) {
    if (required) throw;
    return std::nullopt;
  }
}

Baseline take(const fs::path& sweep, const std::string& name, const Verdict& verdict) {
  const fs::path file = sweep / "verdict.json";
  if (verdict.cells.empty()) throw InputError(file.string() + ": no case was run");
  Baseline baseline;
  baseline.name = name;
  baseline.sweep = verdict.name;
  baseline.taken = verdict.started;
  baseline.environment = verdict.machine.is_object() ? verdict.machine : Json::object();
  baseline.commit = commit_of(baseline.environment);
  baseline.code_path = code_path_of(baseline.environment);
  for (const ReferenceVerdict& reference : verdict.references) {
    auto run = run_of(sweep / "references" / reference.id, reference.id, verdict.holds || reference.finished);
    if (!run) continue;
    run->asked = asked_digest(reference.request);
    run->request = request_keys(reference.request);
    run->outcomes = outcomes_of(reference.checks);
    baseline.references.push_back(std::move(*run));
  }
  for (const CellVerdict& cell : verdict.cells) {
    if (!cell.holds) baseline.red[cell.id] = complaint_of(cell);
    auto run = run_of(sweep / "cells" / cell.id, cell.id, cell.holds);
    if (!run) continue;
    run->asked = asked_digest(cell.request);
    run->request = request_keys(cell.request);
    run->outcomes = outcomes_of(cell.checks);
    const RunBaseline& reference = find(baseline.references, cell.reference, file);
    if (run->losses == reference.losses) run->losses.clear();
    if (run->gradient_norms == reference.gradient_norms) run->gradient_norms.clear();
    if (run->parameters == reference.parameters) run->parameters.clear();
    baseline.reference_of[cell.id] = cell.reference;
    baseline.cells.push_back(std::move(*run));
  }
  return baseline;
}

}  // namespace

Baseline take_baseline(const fs::path& sweep, const std::string& name) {
  const Verdict verdict = read_verdict(sweep / "verdict.json");
  if (!verdict.holds)
    throw InputError(sweep.string() + ": this sweep does not hold or is unfinished, so it cannot be a baseline");
  return take(sweep, name, verdict);
}

Baseline take_for_comparison(const fs::path& sweep, const std::string& name) {
  return take(sweep, name, read_verdict(sweep / "verdict.json"));
}

}  // namespace plumbline
