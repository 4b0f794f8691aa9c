// From two records to a verdict on one cell. Knows nothing of how the records came to be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "record/verdict.hpp"

namespace plumbline {

/// What the launcher saw of a run that a record cannot tell itself.
struct LaunchFinding {
  bool started = true;
  bool timed_out = false;
  bool interrupted = false;
  int exit_code = 0;
  std::optional<std::int64_t> culprit_rank;
  std::string words;  ///< "rank 2 was killed by signal 9 while in 2B3; ranks 0, 1, 3 waited for it"
  std::vector<std::int64_t>
      process_peak_bytes;  ///< VmHWM of each rank as the launcher read it; empty when it could not
  double seconds = 0;
};

/// What the sweep file asked of this cell: decides what applies and what is required, before any table is read.
struct CellPlan {
  std::string id, run, model, schedule, optimizer;
  std::string
      schedule_csv;  ///< the bytes that the record's schedule.csv must have; empty = the schedule's name decides
  std::int64_t world = 0;
  std::vector<std::int64_t> balance;
  std::vector<std::int64_t>
      lengths;  ///< one per microbatch, when the sweep file sets them for this cell; empty = the run file's
  std::vector<std::string> checks;  ///< names asked for; empty = all
  bool clipping_must_act = false;
  bool repeat = false;  ///< R0 asked for
  std::optional<double>
      process_memory_limit;  ///< share of the reference's VmHWM no rank may pass (0.6), on cells that ask for it
  std::optional<std::filesystem::path> calibration;  ///< calibration.json: the calibrated tier; absent = bits
  std::string command;
  std::optional<LaunchFinding> launch;
  std::optional<LaunchFinding> reference_launch;
};

/// Runs every check on the cell. `repeated`: the record of the same run done again, for R0. Never throws for what a
/// record holds: a record that cannot be read makes `completion` fail with the reader's message and the rest not_run.
CellVerdict judge_cell(const CellPlan& plan, const std::filesystem::path& reference,
                       const std::filesystem::path& candidate,
                       const std::optional<std::filesystem::path>& repeated = std::nullopt);

/// Why `check` does not apply to a cell, decided from the sweep's plan and the candidate's manifest alone, before any
/// table is read; nothing when it applies. Throws InputError for an unknown check.
std::optional<std::string> not_applicable(const std::string& check, const CellPlan& plan, const Manifest& candidate);

/// All checks' names in the order of the table: completion, data, census, loss, boundaries, gradients,
/// nonzero_gradients, gradient_norm, parameters, empty_partitions, variable_lengths, memory, conformance,
/// repeatability.
const std::vector<std::string>& check_names();

}  // namespace plumbline
