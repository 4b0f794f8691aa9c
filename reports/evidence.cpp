// SPDX-License-Identifier: BSD-3-Clause
#include "reports/evidence.hpp"

#include <algorithm>
#include <cmath>
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

/// Without what belongs to a step.
RunSummary summary_of(const Record& record) {
  return {.manifest = record.manifest, .losses = {}, .ranks = std::vector<RankMemory>(record.ranks.size())};
}

void add_step(RunSummary& run, const Record& rows) {
  for (std::size_t rank = 0; rank < rows.ranks.size(); ++rank) {
    for (const auto& row : rows.ranks[rank].steps) {
      if (row.loss) run.losses[row.step] = *row.loss;
    }
    RankMemory& memory = run.ranks[rank];
    for (const auto& row : rows.ranks[rank].memory) {
      take_largest(memory.activation_bytes, row.activation_peak_bytes);
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

std::vector<std::string> folder_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error)) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::map<std::pair<std::int64_t, std::string>, double> gradient_norms(const Record& record) {
  std::map<std::pair<std::int64_t, std::string>, double> norms;
  for (const RankRecord& rank : record.ranks) {
    for (const TensorRow& row : rank.tensors) {
      if (row.kind == "gradient") norms[{row.step, row.name}] = row.l2;
    }
  }
  return norms;
}

}  // namespace

void GradientNorms::add(const Record& reference, const Record& candidate) {
  const auto expected = gradient_norms(reference);
  for (const auto& [place, norm] : gradient_norms(candidate)) {
    const auto alone = expected.find(place);
    if (alone == expected.end() || !std::isfinite(norm) || !std::isfinite(alone->second) || alone->second == 0)
      continue;
    const double difference = norm / alone->second - 1;
    ++compared;
    differing += norm == alone->second ? 0 : 1;
    low = std::min(low, difference);
    high = std::max(high, difference);
  }
}

fs::path record_of(const fs::path& folder, const CellVerdict& cell) {
  return record_of_replica(folder / "cells" / cell.id,
                           cell.first_divergence ? cell.first_divergence->replica : std::nullopt);
}

std::optional<std::int64_t> cores_of(const Manifest& manifest) {
  const Json::json_pointer place("/machine/cores");
  if (!manifest.json.contains(place) || !manifest.json.at(place).is_number_integer()) return std::nullopt;
  return manifest.json.at(place).get<std::int64_t>();
}

namespace {

class Gathering {
 public:
  Gathering(const fs::path& folder, Evidence& evidence) : folder_(folder), evidence_(evidence) {}

  void reference(const std::string& id) {
    or_missing("references/" + id, [&] { evidence_.references.emplace(id, read_reference(reference_path(id))); });
  }

  void cell(const CellVerdict& cell) {
    or_missing("cells/" + cell.id, [&] {
      const fs::path path = record_of(folder_, cell);
      RecordStream stream(path);
      RunSummary run = summary_of(stream.record());
      std::optional<RecordStream> reference;
      if (evidence_.references.contains(cell.reference)) reference.emplace(reference_path(cell.reference));
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
        run.norms.add(reference->record(), stream.record());
      }
      take_predictions(run, cell);
      const auto named = evidence_.references.find(cell.reference);
      if (named != evidence_.references.end() && same_training(named->second.manifest, run.manifest))
        evidence_.reference_of[cell.id] = cell.reference;
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

  fs::path reference_path(const std::string& id) const { return record_of_replica(folder_ / "references" / id, {}); }

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

/// The end of a file, from the start of a line; empty if there is none.
std::string end_of_file(const fs::path& path) {
  std::error_code missing;
  if (!fs::is_regular_file(path, missing)) return "";
  std::string text = read_file(path);
  if (text.size() <= most_output_bytes) return text;
  const auto line = text.find('\n', text.size() - most_output_bytes);
  return "...\n" + text.substr(line == std::string::npos ? text.size() - most_output_bytes : line + 1);
}

std::string first_line(const fs::path& path) {
  std::error_code missing;
  if (!fs::is_regular_file(path, missing)) return "";
  const std::string text = read_file(path);
  return text.substr(0, text.find('\n'));
}

/// Of every reference and case; missing files stay empty.
LaunchEvidences launches_of(const fs::path& folder, const Verdict& verdict) {
  LaunchEvidences launches;
  const auto take = [&](const std::string& name) {
    const fs::path launch = folder / "launches" / name;
    LaunchEvidence evidence{first_line(launch / "command.txt"), end_of_file(launch / "stderr.txt")};
    if (!evidence.command.empty() || !evidence.error_end.empty()) launches.emplace(name, std::move(evidence));
  };
  for (const auto& reference : verdict.references) take("reference-" + reference.id);
  for (const auto& cell : verdict.cells) take(cell.id);
  return launches;
}

}  // namespace

Evidence gather_evidence(const fs::path& folder, const Verdict& verdict) {
  Evidence evidence;
  Gathering gathering(folder, evidence);
  for (const auto& id : folder_names(folder / "references")) gathering.reference(id);
  for (const auto& cell : verdict.cells) gathering.cell(cell);
  gathering.slowest();
  evidence.launches = launches_of(folder, verdict);
  try {
    evidence.baseline = read_baseline_result(folder);
  } catch (const std::exception& error) {
    evidence.missing.push_back(relative_message(error, folder));
  }
  return evidence;
}

}  // namespace plumbline
