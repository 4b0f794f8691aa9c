// SPDX-License-Identifier: BSD-3-Clause
// What the page draws, read from the records beside a verdict.
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
#include "reports/bench_rows.hpp"
#include "reports/gradient_ratios.hpp"
#include "reports/launch_evidence.hpp"
#include "reports/measured_timeline.hpp"

namespace plumbline {

/// Largest bytes of one rank over a run's steps; absent where the record leaves the column empty.
struct RankMemory {
  std::int64_t rank = 0;
  std::vector<std::string> units;
  std::optional<std::int64_t> activation_bytes;  ///< measured
  std::optional<std::int64_t> predicted_bytes;   ///< by the memory law, as the verdict has it
  std::optional<std::int64_t> parameter_bytes, gradient_bytes, optimizer_bytes;
  std::optional<std::int64_t> process_bytes;
};

/// One run, as far as the page shows it.
struct RunSummary {
  Manifest manifest;
  std::map<std::int64_t, float> losses;  ///< by step
  std::vector<RankMemory> ranks;
  GradientRatios ratios;                            ///< of a case: to its reference
  std::vector<MachineDifference> environment = {};  ///< of a case that does not hold, against its reference
};

/// Of the machine that a run was on; nothing where its record does not say.
std::optional<std::int64_t> cores_of(const Manifest& manifest);

/// The case of several ranks with the largest median makespan.
struct SlowestCase {
  std::string id;
  MeasuredTimeline timeline;
};

struct Evidence {
  std::map<std::string, RunSummary> references;     ///< by folder name
  std::map<std::string, RunSummary> cells;          ///< by cell id
  std::map<std::string, std::string> reference_of;  ///< cell id -> reference's folder name
  std::optional<SlowestCase> slowest;               ///< of those whose ranks did what their schedule.csv says
  LaunchEvidences launches;
  std::optional<BaselineResult> baseline;
  std::vector<BenchRow> bench;       ///< of the benchmark that lies beside the verdict
  std::vector<std::string> missing;  ///< records that could not be read, with why
};

/// Reads <folder>/references/<id>/record and <folder>/cells/<id>/record (or the record lying in <id>/ itself), step by
/// step. A record
/// that cannot be read is named in `missing` and left out; nothing is thrown for it. A cell's reference is the one
/// that the verdict names, of the same model and seed; in a verdict that names none it is the one with the same model,
/// data, seed, dtype, optimiser, clip limit and accumulation order. Beside them it reads <folder>/launches and
/// <folder>/baseline.json and bench.json, where they are.
Evidence gather_evidence(const std::filesystem::path& folder, const Verdict& verdict);

}  // namespace plumbline
