// SPDX-License-Identifier: BSD-3-Clause
#include "reports/evidence.hpp"

#include <algorithm>
#include <exception>

#include "record/mesh.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// Where several pipelines trained, of the one that diverged first, or of the first.
fs::path record_in(const fs::path& folder, const std::optional<Finding>& divergence = std::nullopt) {
  std::error_code ignored;
  if (fs::exists(folder / "record" / "manifest.json", ignored)) return folder / "record";
  return record_of_replica(folder, divergence ? divergence->replica : std::nullopt);
}

void take_largest(std::optional<std::int64_t>& kept, const std::optional<std::int64_t>& value) {
  if (value) kept = std::max(kept.value_or(*value), *value);
}

RankMemory rank_memory(const Record& record, const RankRecord& rank) {
  RankMemory memory;
  memory.rank = rank.rank;
  for (const auto& stage : record.manifest.stages) {
    if (stage.rank == rank.rank) memory.units.insert(memory.units.end(), stage.units.begin(), stage.units.end());
  }
  for (const auto& row : rank.memory) {
    take_largest(memory.activation_bytes, row.activation_peak_bytes);
    take_largest(memory.parameter_bytes, row.parameter_bytes);
    take_largest(memory.gradient_bytes, row.gradient_bytes);
    take_largest(memory.optimizer_bytes, row.optimizer_bytes);
    take_largest(memory.process_bytes, row.process_peak_bytes);
  }
  return memory;
}

RunSummary summarize(const Record& record) {
  RunSummary run{.manifest = record.manifest, .losses = {}, .ranks = {}, .timeline = {}, .ratios = {}};
  for (const auto& rank : record.ranks) {
    for (const auto& row : rank.steps) {
      if (row.loss) run.losses[row.step] = *row.loss;
    }
    run.ranks.push_back(rank_memory(record, rank));
  }
  return run;
}

/// What a cell and the reference that its verdict names have in common at least: a run that was gone on with, and one
/// in another dtype or order, may have other data, or fewer steps of them.
bool same_training(const Manifest& one, const Manifest& other) {
  return one.seed == other.seed && one.json.value("model", Json()) == other.json.value("model", Json());
}

/// Everything that must be equal for two runs to be compared at all.
Json identity(const Manifest& manifest) {
  Json key;
  for (const char* name : {"model", "optimizer", "clip_norm"}) key[name] = manifest.json.value(name, Json());
  key["run"] = {manifest.seed,        manifest.dtype,        manifest.steps,
                manifest.data_digest, manifest.accumulation, manifest.accumulation_digest};
  return key;
}

/// The memory check works the law out; here it is only drawn.
void take_predictions(RunSummary& run, const CellVerdict& cell) {
  for (const auto& check : cell.checks) {
    for (std::size_t rank = 0; rank < std::min(run.ranks.size(), check.predicted_peak_bytes.size()); ++rank)
      run.ranks[rank].predicted_bytes = check.predicted_peak_bytes[rank];
  }
}

/// Where the actions are not the schedule's there is nothing to lay beside it; `conformance` says so.
std::optional<MeasuredTimeline> timeline_of(const Record& record) {
  try {
    return measure_timeline(record);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// The message without the folder's own path, so that the page does not change with the place where it lies.
std::string relative_message(const std::exception& error, const fs::path& folder) {
  std::string message = error.what();
  const std::string prefix = folder.string() + "/";
  for (auto at = message.find(prefix); at != std::string::npos; at = message.find(prefix, at)) {
    message.erase(at, prefix.size());
  }
  return message;
}

/// The one that the verdict names; verdicts of the first schema name none, and there it is the first that trained the
/// same.
std::optional<std::string> reference_of(const Evidence& evidence, const CellVerdict& cell, const Manifest& manifest) {
  if (!cell.reference.empty()) {
    const auto named = evidence.references.find(cell.reference);
    const bool there = named != evidence.references.end() && same_training(named->second.manifest, manifest);
    return there ? std::optional(cell.reference) : std::nullopt;
  }
  for (const auto& [id, reference] : evidence.references) {
    if (identity(reference.manifest) == identity(manifest)) return id;
  }
  return std::nullopt;
}

std::vector<std::string> folder_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error)) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::optional<std::int64_t> cores_of(const Manifest& manifest) {
  const auto machine = manifest.json.find("machine");
  if (machine == manifest.json.end() || !machine->is_object()) return std::nullopt;
  const auto cores = machine->find("cores");
  if (cores == machine->end() || !cores->is_number_integer()) return std::nullopt;
  return cores->get<std::int64_t>();
}

Evidence gather_evidence(const fs::path& folder, const Verdict& verdict) {
  Evidence evidence;
  std::map<std::string, Record> references;
  for (const auto& id : folder_names(folder / "references")) {
    try {
      const Record& record = references.emplace(id, read_record(record_in(folder / "references" / id))).first->second;
      evidence.references.emplace(id, summarize(record));
    } catch (const std::exception& error) {
      evidence.missing.push_back("references/" + id + ": " + relative_message(error, folder));
    }
  }
  for (const auto& cell : verdict.cells) {
    try {
      const Record record = read_record(record_in(folder / "cells" / cell.id, cell.first_divergence));
      RunSummary run = summarize(record);
      run.timeline = timeline_of(record);
      take_predictions(run, cell);
      if (const auto id = reference_of(evidence, cell, run.manifest)) evidence.reference_of[cell.id] = *id;
      if (const auto reference = references.find(cell.reference); reference != references.end()) {
        run.ratios = gradient_ratios(reference->second, record);
        if (!cell.holds) run.environment = machine_differences(reference->second, record);
      }
      evidence.cells.emplace(cell.id, std::move(run));
    } catch (const std::exception& error) {
      evidence.missing.push_back("cells/" + cell.id + ": " + relative_message(error, folder));
    }
  }
  evidence.launches = gather_launches(folder, verdict);
  try {
    evidence.baseline = read_baseline_result(folder);
    evidence.bench = read_bench_rows(folder);
  } catch (const std::exception& error) {
    evidence.missing.push_back(relative_message(error, folder));
  }
  return evidence;
}

}  // namespace plumbline
