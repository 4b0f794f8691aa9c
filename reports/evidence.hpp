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
#include "reports/gradient_ratios.hpp"
#include "reports/measured_timeline.hpp"

namespace plumbline {

/// Largest bytes of one rank over a run's steps; absent if the record leaves the column empty.
struct RankMemory {
  std::int64_t rank = 0;
  std::vector<std::string> units;
  std::optional<std::int64_t> activation_bytes;  ///< measured
  std::optional<std::int64_t> predicted_bytes;   ///< by the activation memory model, from the verdict
  std::optional<std::int64_t> parameter_bytes, gradient_bytes, optimizer_bytes;
  std::optional<std::int64_t> process_bytes;
};

/// What the page shows of one run.
struct RunSummary {
  Manifest manifest;
  std::map<std::int64_t, float> losses;  ///< by step
  std::vector<RankMemory> ranks;
  GradientRatios ratios;                            ///< of a case, relative to its reference
  std::vector<MachineDifference> environment = {};  ///< of a case that does not hold, relative to its reference
};

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
  std::vector<std::string> missing;  ///< unreadable records, with the reason
};

/// The record of a run in its folder; of several pipelines, the one that diverged first, otherwise the first.
std::filesystem::path record_in(const std::filesystem::path& folder,
                                const std::optional<Finding>& divergence = std::nullopt);

/// Reads <folder>/references/<id>/record and <folder>/cells/<id>/record (or the record in <id>/ itself), step by step.
/// A record that cannot be read is listed in `missing` and skipped, without an exception. A case's reference is the one
/// that the verdict names, with the same model and seed; if it names none, the one with the same model, data, seed,
/// dtype, optimizer, clip limit and accumulation order. Also reads <folder>/launches, if it exists.
Evidence gather_evidence(const std::filesystem::path& folder, const Verdict& verdict);

}  // namespace plumbline
