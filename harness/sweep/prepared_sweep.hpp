// SPDX-License-Identifier: BSD-3-Clause
// A validated sweep: everything that can be refused before anything is started or written; and whether the trainers can
// start its runs on this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/sweep/sweep_file.hpp"
#include "harness/sweep/sweep_inputs.hpp"
#include "harness/sweep/sweep_options.hpp"
#include "harness/sweep/sweep_plan.hpp"

namespace plumbline {

struct PreparedSweep {
  SweepFile file;
  SweepPlan plan;                      ///< plan of the selected cases, each with the command that repeats it
  std::vector<std::string> all_cells;  ///< ids of all cases of the sweep file
  std::filesystem::path folder;
  SweepInputs inputs;  ///< the files of all runs
};

/// Starts only ldd and writes nothing. Throws InputError: an invalid sweep file, run file, config.json or schedule
/// file, a pattern that matches no case, a folder in use; SystemError: a missing launcher or trainer.
PreparedSweep prepare_sweep(const SweepOptions& options);

/// A refused run, and all runs equal to it.
struct RefusedRun {
  std::vector<std::string> ids;  ///< case ids; "reference-<id>" for references
  int exit_code = 0;             ///< 2: bad input; 3: the machine
  std::string words;             ///< the trainer's message, naming the user's run file instead of the copy
};

struct Preflight {
  std::size_t requested = 0;  ///< number of distinct runs
  std::vector<RefusedRun> refused;
};

/// Runs the trainer's `--check --json` for each distinct run of the plan, `at_once` in parallel. Skips users' commands.
/// Writes only to a temporary folder. Throws SystemError if a trainer cannot be started or the check was interrupted.
Preflight ask_trainers(const PreparedSweep& sweep, const std::filesystem::path& trainers, std::int64_t at_once);

}  // namespace plumbline
