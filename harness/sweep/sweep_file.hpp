// SPDX-License-Identifier: BSD-3-Clause
// SWEEP.toml: the runs, world sizes, schedules and checks of a sweep.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/planned_command.hpp"

namespace plumbline {

/// A case's or a launch's changes to its run file. Empty = unchanged.
struct RunChanges {
  std::optional<std::string> optimizer;
  /// One entry per microbatch: one number for all its rows, or one per row.
  std::vector<std::vector<std::int64_t>> lengths;
  std::optional<std::string> partition;          ///< uniform | cost
  std::vector<std::int64_t> balance;             ///< layers per stage
  std::optional<std::int64_t> replicas;          ///< copies of the pipeline
  std::string level;                             ///< of a launch: record level, overriding the run file
  std::optional<std::filesystem::path> weights;  ///< of a launch: initial weights
  friend bool operator==(const RunChanges&, const RunChanges&) = default;
};

/// A schedule's name that means: the reference runs the first segment.
inline constexpr const char* by_the_reference = "sequential";

/// The first segment of a resumed case: it runs until it is stopped; the case resumes it and is judged.
struct FirstPart {
  std::int64_t steps = 0;  ///< number of steps before the stop
  std::int64_t world_size = 0;
  std::optional<std::string> schedule;
};

/// One [[cell]] table: a case in addition to the matrix.
struct ExtraCell {
  std::filesystem::path run;
  std::int64_t world_size = 0;  ///< of one pipeline
  std::optional<std::string> schedule;
  RunChanges changes;
  std::optional<FirstPart> resumes;  ///< if set, world_size and schedule apply to the resumed run
  std::string where;                 ///< "sweep.toml:12:1, key cell", for messages
};

struct SweepFile {
  std::filesystem::path path;
  std::string name;  ///< displayed name: the key `name`, else name_of_file
  std::string id;    ///< name in folders: the key, else the file's name without extension
  std::vector<std::filesystem::path> runs;
  std::vector<std::int64_t> world_sizes;    ///< of one pipeline
  std::vector<std::int64_t> replicas;       ///< copies of the pipeline; empty: as in the run files
  std::vector<std::string> schedules;       ///< names or paths of CSV files; empty: as in the run files
  std::vector<std::string> in_turn;         ///< more schedules: each once per world size, with alternating runs
  std::vector<std::string> optimizers;      ///< empty: as in the run files
  std::vector<std::string> checks;          ///< empty: all
  std::vector<std::string> accept_missing;  ///< claims that need not be compared in full
  bool accept_gaps = false;                 ///< gaps of the data coverage are not reported
  std::string commit;                       ///< of what is judged; empty: HEAD of the checkout that contains this file
  std::vector<std::string> repeat;          ///< ids of cells to run twice
  bool clipping = false;       ///< in all cases of the matrix the clip limit must act in some steps and not in others
  bool bench = false;          ///< the data were chosen to detect every fault: missing coverage fails the sweep
  std::string launcher;        ///< command template with {world}; empty if the file's commands have no {launcher}
  bool own_launcher = false;   ///< set by the file
  std::string device = "cpu";  ///< cpu | cuda, for all trainers
  /// Comparison mode: false = bits; true = within the limits of a calibration of each reference.
  bool calibrated = false;
  bool mixed_gpus = false;    ///< --mixed-gpus for the pipeline; only in the mode calibrated
  double time_limit_s = 300;  ///< per run
  std::vector<ExtraCell> cells;
  std::optional<UserCommands> commands;  ///< commands of the user instead of run files: they then define all cases
};

/// Reads and validates everything that does not depend on other files, except that run files must exist. Paths are
/// relative to the sweep file's folder. Throws InputError naming file, line and key: unknown key, world size below 1,
/// unknown schedule, optimizer or check, nothing to run, a missing run file, an invalid command
/// (read_user_commands.hpp).
SweepFile read_sweep_file(const std::filesystem::path& path);

}  // namespace plumbline
