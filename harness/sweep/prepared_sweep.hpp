// SPDX-License-Identifier: BSD-3-Clause
// What a sweep is going to do, with everything behind it that can be refused before anything is started or written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/sweep/sweep_file.hpp"
#include "harness/sweep/sweep_fingerprint.hpp"
#include "harness/sweep/sweep_options.hpp"
#include "harness/sweep/sweep_plan.hpp"

namespace plumbline {

struct PreparedSweep {
  SweepFile file;
  SweepPlan plan;                      ///< of the cells selected, each with the command that runs it again
  std::vector<std::string> all_cells;  ///< ids of those that the sweep file stands for
  std::filesystem::path folder;
  SweepFingerprint fingerprint;
  SweepInputs inputs;  ///< what the fingerprint was made from
};

/// Starts nothing but ldd and writes nothing. Throws InputError: the sweep file, a run file, a model's config.json or a
/// schedule file is wrong, a pattern that matches no cell, a folder that cannot be taken; SystemError: a launcher or
/// trainer that is missing.
PreparedSweep prepare_sweep(const SweepOptions& options);

}  // namespace plumbline
