// SPDX-License-Identifier: BSD-3-Clause
// Runs a sweep: references, then cases, each judged when it ends; writes verdict and report.
#pragma once

#include <cstdio>
#include <filesystem>

#include "harness/sweep/sweep_options.hpp"
#include "harness/sweep/sweep_verdict.hpp"

namespace plumbline {

struct SweepResult {
  std::filesystem::path folder;
  Verdict verdict;
};

/// Progress goes to `log`. A case that crashes, hangs or differs does not hold, and the sweep continues; at the end
/// each such case is repeated once. Throws after it has written verdict and report of the finished cases: SystemError
/// for Ctrl-C, a full disk, a missing launcher; InputError if a trainer refuses a run file.
SweepResult run_sweep(const SweepOptions& options, const SweepServices& services, std::FILE* log);

}  // namespace plumbline
