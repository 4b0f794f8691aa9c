#include "harness/baseline/take_baseline.hpp"

#include <algorithm>

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

}  // namespace

Baseline take_baseline(const fs::path& sweep, const std::string& name) {
  const fs::path file = sweep / "verdict.json";
  const Verdict verdict = read_verdict(file);
  if (!verdict.holds)
    throw InputError(sweep.string() + ": this sweep does not hold, or was not finished: nothing to hold others to");
  if (verdict.cells.empty()) throw InputError(file.string() + ": no cell was run");
  Baseline baseline;
  baseline.name = name;
  baseline.sweep = verdict.name;
  baseline.taken = verdict.started;
  baseline.environment = verdict.machine.is_object() ? verdict.machine : Json::object();
  baseline.commit = commit_of(baseline.environment);
  baseline.code_path = code_path_of(baseline.environment);
  for (const ReferenceVerdict& reference : verdict.references) {
    RunBaseline run = whole_run(sweep / "references" / reference.id, reference.id);
    run.asked = asked_digest(reference.request);
    run.request = request_keys(reference.request);
    run.outcomes = outcomes_of(reference.checks);
    baseline.references.push_back(std::move(run));
  }
  for (const CellVerdict& cell : verdict.cells) {
    RunBaseline run = whole_run(sweep / "cells" / cell.id, cell.id);
    run.asked = asked_digest(cell.request);
    run.request = request_keys(cell.request);
    run.outcomes = outcomes_of(cell.checks);
    const RunBaseline& reference = find(baseline.references, cell.reference, file);
    if (run.losses == reference.losses) run.losses.clear();
    if (run.gradient_norms == reference.gradient_norms) run.gradient_norms.clear();
    if (run.parameters == reference.parameters) run.parameters.clear();
    baseline.reference_of[cell.id] = cell.reference;
    baseline.cells.push_back(std::move(run));
  }
  return baseline;
}

}  // namespace plumbline
