// SPDX-License-Identifier: BSD-3-Clause
// What the page draws, read from the records next to a verdict.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/machine_differences.hpp"
#include "record/record.hpp"
#include "record/verdict.hpp"
#include "reports/baseline_result.hpp"
#include "reports/measured_timeline.hpp"

namespace plumbline {

/// Largest bytes of one rank over a run's steps; absent if the record leaves the column empty.
struct RankMemory {
  std::optional<std::int64_t> activation_bytes;  ///< measured
  std::optional<std::int64_t> predicted_bytes;   ///< by the activation memory model, from the verdict
  std::optional<std::int64_t> process_bytes;
};

/// The gradient norms of a case relative to its reference's, over the steps in which both are finite and the
/// reference's is not 0.
struct GradientNorms {
  std::int64_t compared = 0, differing = 0;
  double low = 0, high = 0;  ///< smallest and largest relative difference

  /// Adds the gradients that both have; the records hold the rows of one or more steps.
  void add(const Record& reference, const Record& candidate);
};

/// What the page shows of one run.
struct RunSummary {
  Manifest manifest;
  std::map<std::int64_t, float> losses;  ///< by step
  std::vector<RankMemory> ranks;
  GradientNorms norms = {};                         ///< of a case
  std::vector<MachineDifference> environment = {};  ///< of a case that does not hold, relative to its reference
};

/// Of a run's machine; nullopt if its record lacks it.
std::optional<std::int64_t> cores_of(const Manifest& manifest);

/// The case of several ranks with the largest median makespan.
struct SlowestCase {
  std::string id;
  MeasuredTimeline timeline;
};

/// Files of a launch next to its record.
struct LaunchEvidence {
  std::string command;    ///< as executed, quoted for a shell; empty if none was kept
  std::string error_end;  ///< the last lines of its standard error
};

/// By the name of the launch: a case's id, "reference-<id>".
using LaunchEvidences = std::map<std::string, LaunchEvidence>;

struct Evidence {
  std::map<std::string, RunSummary> references;     ///< by folder name
  std::map<std::string, RunSummary> cells;          ///< by case id
  std::map<std::string, std::string> reference_of;  ///< case id -> reference's folder name
  std::optional<SlowestCase> slowest;               ///< of those whose ranks executed their schedule.csv
  LaunchEvidences launches;
  std::optional<BaselineResult> baseline;
  std::vector<std::string> missing;  ///< unreadable records, with the reason
};

/// The record of a case in a sweep's folder; of several pipelines, that of the one that diverged first, else of the
/// first.
std::filesystem::path record_of(const std::filesystem::path& folder, const CellVerdict& cell);

/// Reads the records <folder>/references/<id> and <folder>/cells/<id>, step by step. A record that cannot be read is
/// listed in `missing` and skipped, without an exception. A case's reference is the one that the verdict names, if it
/// has the same model and seed. Also reads <folder>/launches and <folder>/baseline.json, if they exist.
Evidence gather_evidence(const std::filesystem::path& folder, const Verdict& verdict);

}  // namespace plumbline
