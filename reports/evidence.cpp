// SPDX-License-Identifier: BSD-3-Clause
#include "reports/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "record/mesh.hpp"
#include "record/record_stream.hpp"
#include "support/error.hpp"
#include "support/files.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

void take_largest(std::optional<std::int64_t>& kept, const std::optional<std::int64_t>& value) {
  if (value) kept = std::max(kept.value_or(*value), *value);
}

/// Everything that does not belong to a step.
RunSummary summary_of(const Record& record) {
  RunSummary run{.manifest = record.manifest, .losses = {}, .ranks = {}, .ratios = {}};
  for (const auto& rank : record.ranks) {
    RankMemory& memory = run.ranks.emplace_back();
    memory.rank = rank.rank;
    for (const auto& stage : record.manifest.stages) {
      if (stage.rank == rank.rank) memory.units.insert(memory.units.end(), stage.units.begin(), stage.units.end());
    }
  }
  return run;
}

void add_step(RunSummary& run, const Record& rows) {
  for (std::size_t rank = 0; rank < rows.ranks.size(); ++rank) {
    for (const auto& row : rows.ranks[rank].steps) {
      if (row.loss) run.losses[row.step] = *row.loss;
    }
    RankMemory& memory = run.ranks[rank];
    for (const auto& row : rows.ranks[rank].memory) {
      take_largest(memory.activation_bytes, row.activation_peak_bytes);
      take_largest(memory.parameter_bytes, row.parameter_bytes);
      take_largest(memory.gradient_bytes, row.gradient_bytes);
      take_largest(memory.optimizer_bytes, row.optimizer_bytes);
      take_largest(memory.process_bytes, row.process_peak_bytes);
    }
  }
}

RunSummary read_reference(const fs::path& path) {
  RecordStream stream(path);
  RunSummary run = summary_of(stream.record());
  while (const auto step = stream.next_step()) {
    stream.go_to(*step);
    add_step(run, stream.record());
  }
  return run;
}

/// Reads on up to this step.
void advance(RecordStream& stream, std::int64_t step) {
  while (stream.next_step().value_or(step + 1) <= step) stream.go_to(*stream.next_step());
}

/// The least that a case and the reference of its verdict have in common: a resumed run, and one
/// in another dtype or order, may have other data, or fewer steps.
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

/// The memory check computes the prediction; it is only drawn here.
void take_predictions(RunSummary& run, const CellVerdict& cell) {
  for (const auto& check : cell.checks) {
    for (std::size_t rank = 0; rank < std::min(run.ranks.size(), check.predicted_peak_bytes.size()); ++rank)
      run.ranks[rank].predicted_bytes = check.predicted_peak_bytes[rank];
  }
}

/// The message without the folder's path, so that the page does not depend on its location.
std::string relative_message(const std::exception& error, const fs::path& folder) {
  std::string message = error.what();
  const std::string prefix = folder.string() + "/";
  for (auto at = message.find(prefix); at != std::string::npos; at = message.find(prefix, at)) {
    message.erase(at, prefix.size());
  }
  return message;
}

/// The one that the verdict names; for verdicts of the first schema, which name none, the first that trained the
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

class Gathering {
 public:
  Gathering(const fs::path& folder, Evidence& evidence) : folder_(folder), evidence_(evidence) {}

  void reference(const std::string& id) {
    or_missing("references/" + id, [&] { evidence_.references.emplace(id, read_reference(reference_path(id))); });
  }

  void cell(const CellVerdict& cell) {
    or_missing("cells/" + cell.id, [&] {
      const fs::path path = record_in(folder_ / "cells" / cell.id, cell.first_divergence);
      RecordStream stream(path);
      RunSummary run = summary_of(stream.record());
      std::optional<RecordStream> reference;
      if (evidence_.references.contains(cell.reference)) reference.emplace(reference_path(cell));
      std::optional<TimelineMeasurement> times;  // none if the actions are not the schedule's: `conformance` reports it
      const auto time = [&](auto measure) {
        try {
          measure();
        } catch (const InputError&) {
          times.reset();
        }
      };
      time([&] { times.emplace(stream.record()); });
      while (const auto step = stream.next_step()) {
        stream.go_to(*step);
        add_step(run, stream.record());
        if (times && *step >= 0) time([&] { times->add(stream.record(), *step); });
        if (!reference) continue;
        advance(*reference, *step);
        run.ratios.add(reference->record(), stream.record());
      }
      take_predictions(run, cell);
      if (const auto id = reference_of(evidence_, cell, run.manifest)) evidence_.reference_of[cell.id] = *id;
      if (reference && !cell.holds) run.environment = machine_differences(reference->record(), stream.record());
      evidence_.cells.emplace(cell.id, std::move(run));
      if (cell.world > 1 && times && (!slowest_ || times->median_makespan() > slowest_->times.median_makespan()))
        slowest_ = {cell.id, path, std::move(*times)};
    });
  }

  /// Reads the one step that is drawn.
  void slowest() {
    if (!slowest_) return;
    or_missing("cells/" + slowest_->id, [&] {
      RecordStream stream(slowest_->path);
      const std::int64_t step = slowest_->times.median_step();
      advance(stream, step);
      evidence_.slowest = SlowestCase{slowest_->id, slowest_->times.timeline(stream.record(), step)};
    });
  }

 private:
  struct Timed {
    std::string id;
    fs::path path;
    TimelineMeasurement times;
  };

  fs::path reference_path(const std::string& id) const { return record_in(folder_ / "references" / id); }

  /// The reference that replays the case's norms, if there is one.
  fs::path reference_path(const CellVerdict& cell) const {
    const fs::path replay = folder_ / "replays" / cell.id;
    std::error_code ignored;
    const bool judged_by = fs::exists(replay / "manifest.json", ignored);
    return judged_by ? replay : reference_path(cell.reference);
  }

  template <typename Read>
  void or_missing(const std::string& name, Read read) {
    try {
      read();
    } catch (const std::exception& error) {
      evidence_.missing.push_back(name + ": " + relative_message(error, folder_));
    }
  }

  const fs::path& folder_;
  Evidence& evidence_;
  std::optional<Timed> slowest_;  ///< so far
};

constexpr std::size_t most_output_bytes = 4096;

std::string text_of(const fs::path& path) {
  std::error_code missing;
  return fs::is_regular_file(path, missing) ? read_file(path) : "";
}

/// From the start of a line.
std::string end_of(const std::string& text) {
  if (text.size() <= most_output_bytes) return text;
  const auto line = text.find('\n', text.size() - most_output_bytes);
  return "...\n" + text.substr(line == std::string::npos ? text.size() - most_output_bytes : line + 1);
}

/// Gathers them for every reference and case of the verdict; missing files stay empty.
LaunchEvidences gather_launches(const fs::path& folder, const Verdict& verdict) {
  LaunchEvidences launches;
  const auto take = [&](const std::string& name) {
    const fs::path launch = folder / "launches" / name;
    const std::string command = text_of(launch / "command.txt");
    LaunchEvidence evidence{command.substr(0, command.find('\n')), end_of(text_of(launch / "stderr.txt"))};
    if (!evidence.command.empty() || !evidence.error_end.empty()) launches.emplace(name, std::move(evidence));
  };
  for (const auto& reference : verdict.references) take("reference-" + reference.id);
  for (const auto& cell : verdict.cells) take(cell.id);
  return launches;
}

}  // namespace

fs::path record_in(const fs::path& folder, const std::optional<Finding>& divergence) {
  std::error_code ignored;
  if (fs::exists(folder / "record" / "manifest.json", ignored)) return folder / "record";
  return record_of_replica(folder, divergence ? divergence->replica : std::nullopt);
}

Evidence gather_evidence(const fs::path& folder, const Verdict& verdict) {
  Evidence evidence;
  Gathering gathering(folder, evidence);
  for (const auto& id : folder_names(folder / "references")) gathering.reference(id);
  for (const auto& cell : verdict.cells) gathering.cell(cell);
  gathering.slowest();
  evidence.launches = gather_launches(folder, verdict);
  return evidence;
}

}  // namespace plumbline
