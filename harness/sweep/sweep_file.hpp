// SPDX-License-Identifier: BSD-3-Clause
// SWEEP.toml: which runs, at which world sizes, under which schedules, judged by which checks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/run_limits.hpp"
#include "harness/sweep/user_commands.hpp"

namespace plumbline {

/// What a cell changes in its run file. Empty = as the run file says.
struct RunChanges {
  std::optional<std::string> optimizer;
  std::vector<std::vector<std::int64_t>>
      lengths;                           ///< one entry a microbatch: one number for all its rows, or one for each
  std::optional<std::string> partition;  ///< uniform | cost
  std::vector<std::int64_t> balance;     ///< layers per stage
  bool dump = false;                     ///< at level dump, whatever level the run file names
};

/// In place of a schedule's name: the reference makes the first part of a run.
inline constexpr const char* by_the_reference = "sequential";

/// The part of a cell that is run first and stopped: the cell itself goes on with it, and is what is judged.
struct FirstPart {
  std::int64_t steps = 0;  ///< after which it is stopped
  std::int64_t world_size = 0;
  std::optional<std::string> schedule;
};

/// One [[cell]] table: a cell beside the matrix.
struct ExtraCell {
  std::filesystem::path run;
  std::int64_t world_size = 0;
  std::optional<std::string> schedule;
  RunChanges changes;
  std::optional<FirstPart> resumes;  ///< then world_size and schedule are those that it goes on with
  std::string where;                 ///< "sweep.toml:12:1, key cell": for messages
};

struct SweepFile {
  std::filesystem::path path;
  std::string name;  ///< for people: its key `name`, else name_of_file
  std::string id;    ///< the same in the names of folders: the key, else the file's name without its ending
  std::vector<std::filesystem::path> runs;
  std::vector<std::int64_t> world_sizes;
  std::vector<std::string> schedules;  ///< names, or paths of CSV files; empty: each run file's own
  std::vector<std::string> in_turn;    ///< schedules beside the matrix: each once at every world size, the runs in turn
  std::vector<std::string> optimizers;  ///< empty: each run file's own
  std::vector<std::string> checks;      ///< empty: all
  std::vector<std::string> repeat;      ///< ids of cells to run twice (R0)
  bool clipping =
      false;           ///< the clip limit must act in some steps and not in others, in all cells of the matrix's runs
  bool bench = false;  ///< the data were chosen to let every fault be seen: what they cannot show makes the sweep red
  /// One cell of each model and optimiser once more at level dump, with its reference, so that `audit` sees values.
  bool audit = false;
  std::string launcher;        ///< command template with {world}; empty where the file's commands hold no {launcher}
  bool own_launcher = false;   ///< the file names it
  std::string device = "cpu";  ///< cpu | cuda: of all trainers
  /// Tier of comparison: false = bits, the gate; true = within the limits of a calibration of each reference.
  bool calibrated = false;
  bool mixed_gpus = false;    ///< --mixed-gpus for the pipeline; in the calibrated tier only
  double time_limit_s = 300;  ///< of one run
  std::vector<ExtraCell> cells;
  std::vector<std::string> notes;        ///< on keys of older versions: a line each, for the user
  std::optional<UserCommands> commands;  ///< of the user's own, in place of run files: then these are all its cells
};

/// Reads and validates all that needs no other file but the run files' existence. Paths are taken from the sweep file's
/// folder. Throws InputError naming file, line and key: unknown key, world size below 1, unknown schedule, optimiser or
/// check, nothing to run, a run file that is missing, a command that cannot be (read_user_commands.hpp).
SweepFile read_sweep_file(const std::filesystem::path& path);

}  // namespace plumbline
