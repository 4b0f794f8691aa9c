#include "harness/baseline/take_baseline.hpp"

#include <algorithm>

#include "record/record_stream.hpp"
#include "record/verdict.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/json_text.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// What was asked, without where its files lay: the same sweep in another checkout asks for the same.
std::string asked_digest(Json request) {
  if (!request.is_object()) return "";
  if (request.contains("data") && request["data"].is_object() && request["data"].contains("files"))
    for (Json& file : request["data"]["files"])
      file["path"] = fs::path(file.value("path", std::string())).filename().string();
  return hash_hex(json_text(request));
}

/// Those keys of machine, versions and environment on which the bits of a result depend where the source is the same.
Json code_path_of(const Json& environment) {
  Json path = Json::object();
  const auto take = [&](const char* group, std::initializer_list<const char*> keys) {
    const Json found = environment.value(group, Json::object());
    for (const char* key : keys) path[key] = found.value(key, Json());
  };
  path["device"] = environment.value("device", Json());
  take("machine",
       {"cpu_vendor", "cpu_family", "cpu_model_number", "aten_capability", "mkl_version", "bf16_instructions", "gpus"});
  take("versions", {"libtorch", "cuda_runtime", "cuda_driver"});
  take("environment", {"attention", "compute_threads", "MKL_ENABLE_INSTRUCTIONS", "MKL_CBWR", "ATEN_CPU_CAPABILITY",
                       "ONEDNN_MAX_CPU_ISA", "tf32_cublas", "tf32_cudnn"});
  return path;
}

void take_largest(std::map<std::string, std::int64_t>& kept, const char* name, std::optional<std::int64_t> bytes) {
  if (bytes) kept[name] = std::max(kept.contains(name) ? kept[name] : 0, *bytes);
}

/// The bytes of tensors that are the same in each run. Of the process they are not, nor of buffers between ranks, and
/// so of the peak in which those count: messages come when they come.
void take_memory(RankBytes& into, const MemoryRow& row, bool alone) {
  if (alone) take_largest(into.bytes, "peak_bytes", row.peak_bytes);
  take_largest(into.bytes, "parameter_bytes", row.parameter_bytes);
  take_largest(into.bytes, "gradient_bytes", row.gradient_bytes);
  take_largest(into.bytes, "optimizer_bytes", row.optimizer_bytes);
  take_largest(into.bytes, "activation_peak_bytes", row.activation_peak_bytes);
}

RunBaseline run_of(const fs::path& folder, const std::string& id) {
  RunBaseline run;
  run.id = id;
  RecordStream stream(folder);
  if (stream.record().manifest.level < RecordLevel::full)
    throw InputError(folder.string() + ": its record has no digests of parameters; a baseline needs level full");
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
          run.parameters[row.name] = row.digest;  // a tied copy is the same: the check `parameters` holds
    }
    if (norm) run.gradient_norms.push_back(to_text(*norm));
  }
  return run;
}

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
  baseline.commit = baseline.environment.value("versions", Json::object()).value("commit", "");
  baseline.code_path = code_path_of(baseline.environment);
  for (const ReferenceVerdict& reference : verdict.references) {
    RunBaseline run = run_of(sweep / "references" / reference.id, reference.id);
    run.asked = asked_digest(reference.request);
    run.outcomes = outcomes_of(reference.checks);
    baseline.references.push_back(std::move(run));
  }
  for (const CellVerdict& cell : verdict.cells) {
    RunBaseline run = run_of(sweep / "cells" / cell.id, cell.id);
    run.asked = asked_digest(cell.request);
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
