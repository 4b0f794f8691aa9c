// SPDX-License-Identifier: BSD-3-Clause
// Asks the trainers before a sweep whether they can start its runs on this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/sweep/prepared_sweep.hpp"

namespace plumbline {

/// A refused run, and all runs equal to it.
struct RefusedRun {
  std::vector<std::string> ids;  ///< case ids; "reference-<id>" for references
  int exit_code = 0;             ///< 2: bad input; 3: the machine
  std::string words;             ///< the trainer's message, naming the user's run file instead of the copy
};

struct Preflight {
  std::size_t asked = 0;  ///< number of distinct runs
  std::vector<RefusedRun> refused;
};

/// Runs the trainer's `--check --json` for each distinct run of the plan, `at_once` in parallel. Skips users' commands.
/// Writes only to a temporary folder. Throws SystemError if a trainer cannot be started or the check was interrupted.
Preflight ask_trainers(const PreparedSweep& sweep, const std::filesystem::path& trainers, std::int64_t at_once);

}  // namespace plumbline
