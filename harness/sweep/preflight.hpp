// SPDX-License-Identifier: BSD-3-Clause
// The trainers asked, before a sweep is started, whether they could begin its runs on this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/sweep/prepared_sweep.hpp"

namespace plumbline {

/// Runs that are alike and that their trainer refuses.
struct RefusedRun {
  std::vector<std::string> ids;  ///< of cells; "reference-<id>" of references
  int exit_code = 0;             ///< 2: what the user gave; 3: the machine
  std::string words;             ///< the trainer's own, the user's run file in place of the question's copy
};

struct Preflight {
  std::size_t asked = 0;  ///< distinct runs
  std::vector<RefusedRun> refused;
};

/// Each distinct run of the plan once, by its trainer's `--check --json`, `at_once` side by side. Of commands of the
/// user's own nothing is asked. Writes nothing but a temporary folder. Throws SystemError: a trainer cannot be started,
/// or the question was interrupted.
Preflight ask_trainers(const PreparedSweep& sweep, const std::filesystem::path& trainers, std::int64_t at_once);

}  // namespace plumbline
