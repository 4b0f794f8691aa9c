// SPDX-License-Identifier: BSD-3-Clause
// A validated sweep: everything that can be refused before anything is started or written.
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
  SweepPlan plan;                      ///< plan of the selected cases, each with the command that repeats it
  std::vector<std::string> all_cells;  ///< ids of all cases of the sweep file
  std::filesystem::path folder;
  SweepFingerprint fingerprint;
  SweepInputs inputs;  ///< inputs of the fingerprint
};

/// Starts only ldd and writes nothing. Throws InputError: an invalid sweep file, run file, config.json or schedule
/// file, a pattern that matches no case, a folder in use; SystemError: a missing launcher or trainer.
PreparedSweep prepare_sweep(const SweepOptions& options);

}  // namespace plumbline
