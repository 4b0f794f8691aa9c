// SPDX-License-Identifier: BSD-3-Clause
#include "harness/baseline/take_baseline.hpp"

#include <algorithm>
#include <optional>

#include "harness/baseline/run_identity.hpp"
#include "record/mesh.hpp"
#include "record/record_stream.hpp"
#include "record/verdict.hpp"
#include "support/error.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> outcomes_of(const std::vector<CheckResult>& checks) {
  std::map<std::string, std::string> outcomes;
  for (const CheckResult& check : checks) outcomes[check.name] = to_text(check.outcome);
  return outcomes;
}

const RunBaseline& find(const std::vector<RunBaseline>& runs, const std::string& id, const fs::path& file) {
  const auto found = std::ranges::find_if(runs, [&](const RunBaseline& run) { return run.id == id; });
  if (found == runs.end()) throw InputError(file.string() + ": names a reference that it does not hold: " + id);
  return *found;
}

std::string complaint_of(const CellVerdict& cell) {
  if (cell.incomplete()) return "incomplete: " + missing_words(cell.missing, false);
  if (cell.first_divergence) return cell.first_divergence->words;
  const auto check = std::ranges::find_if(cell.checks, is_blocking);
  return check == cell.checks.end() ? "does not hold" : check->name + ": " + check->reason;
}

void take_largest(std::map<std::string, std::int64_t>& kept, const char* name, std::optional<std::int64_t> bytes) {
  if (bytes) kept[name] = std::max(kept.contains(name) ? kept[name] : 0, *bytes);
}

/// Columns of tensor bytes that are equal in every run. Excludes memory of the process, buffers between ranks, and thus
/// the peak that includes buffers: these depend on the arrival of messages.
void take_memory(RankBytes& into, const MemoryRow& row, bool alone) {
  if (alone) take_largest(into.bytes, "peak_bytes", row.peak_bytes);
  take_largest(into.bytes, "parameter_bytes", row.parameter_bytes);
  take_largest(into.bytes, "gradient_bytes", row.gradient_bytes);
  take_largest(into.bytes, "optimizer_bytes", row.optimizer_bytes);
  take_largest(into.bytes, "activation_peak_bytes", row.activation_peak_bytes);
}

/// The run's results and resource use, without what the verdict says of it; streams the record once.
RunBaseline take_run(const std::filesystem::path& folder, const std::string& id) {
  RunBaseline run;
  run.id = id;
  RecordStream stream(record_of_replica(folder, {}));
  const std::int64_t last = stream.record().manifest.steps - 1;
  run.ranks.resize(stream.record().ranks.size());
  for (const RankRecord& rank : stream.record().ranks)
    for (const SavedRow& row : rank.saved) run.saved_bytes[row.unit] += row.saved_bytes;
  std::vector<std::int64_t> peaks(run.ranks.size(), -1);
  while (const auto step = stream.next_step()) {
    stream.go_to(*step);
    std::optional<double> norm;
    for (std::size_t i = 0; i < run.ranks.size(); ++i) {
      const RankRecord& rank = stream.record().ranks[i];
      RankBytes& bytes = run.ranks[i];
      bytes.rank = rank.rank;
      for (const StepRow& row : rank.steps) {
        if (row.loss) run.losses.push_back(to_text(*row.loss));
        if (row.gradient_norm) norm = row.gradient_norm;
      }
      for (const MemoryRow& row : rank.memory) take_memory(bytes, row, run.ranks.size() == 1);
      for (const TrafficRow& row : rank.traffic) {
        if (row.side != "send") continue;
        bytes.bytes["sent_bytes"] += row.bytes;
        bytes.bytes["messages_sent"] += row.operations;
      }
      for (const ActionRow& row : rank.actions) {
        if (row.peak_bytes.value_or(-1) <= peaks[i]) continue;
        peaks[i] = *row.peak_bytes;
        bytes.peak_action = row.action;
      }
      for (const TensorRow& row : rank.tensors)
        if (row.kind == "parameter" && row.step == last)
          run.parameters[row.name] = row.digest;  // tied copies are equal by the check `tied_weights`
    }
    if (norm) run.gradient_norms.push_back(to_text(*norm));
  }
  return run;
}

/// Of a verdict on a reference or case; nullopt for a failing sweep's run without a record; in a passing sweep every
/// record must exist.
template <typename Judged>
std::optional<RunBaseline> run_of(const fs::path& folder, const Judged& judged, bool required) {
  try {
    RunBaseline run = take_run(folder, judged.id);
    if (run.parameters.empty())
      throw InputError(folder.string() + ": its record has no digests of parameters; a baseline needs level full");
    run.asked = asked_digest(judged.request);
    run.request = request_keys(judged.request);
    run.outcomes = outcomes_of(judged.checks);
    return run;
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
    auto run = run_of(sweep / "references" / reference.id, reference, verdict.holds || reference.finished);
    if (run) baseline.references.push_back(std::move(*run));
  }
  for (const CellVerdict& cell : verdict.cells) {
    if (!cell.holds) baseline.red[cell.id] = complaint_of(cell);
    auto run = run_of(sweep / "cells" / cell.id, cell, cell.holds);
    if (!run) continue;
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
