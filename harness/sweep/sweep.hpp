// SPDX-License-Identifier: BSD-3-Clause
// Runs a sweep: references, then cells, each judged when it has ended, and leaves verdict and report.
#pragma once

#include <cstdio>
#include <filesystem>

#include "harness/sweep/sweep_options.hpp"
#include "harness/sweep/sweep_services.hpp"
#include "harness/sweep/sweep_verdict.hpp"

namespace plumbline {

struct SweepResult {
  std::filesystem::path folder;
  Verdict verdict;
};

/// Progress goes to `log`. A cell whose run crashes, hangs or differs does not hold, and the sweep goes on; when all
/// have run, each that does not hold is run once more. Throws, each time after verdict and report of what had finished
/// were written: SystemError for Ctrl-C, a full disk, a launcher that is missing; InputError when a trainer refuses a
/// run file.
SweepResult run_sweep(const SweepOptions& options, const SweepServices& services, std::FILE* log);

}  // namespace plumbline
