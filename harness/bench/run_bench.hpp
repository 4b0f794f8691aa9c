// SPDX-License-Identifier: BSD-3-Clause
// `plumbline bench`: references and cells of a sweep file, run in turn, round after round.
#pragma once

#include <cstdint>
#include <cstdio>

#include "harness/bench/bench_result.hpp"
#include "harness/sweep/sweep_options.hpp"

namespace plumbline {

struct BenchOptions {
  SweepOptions sweep;
  std::int64_t rounds = 6;
  double quiet_limit = 0.05;
};

struct FinishedBench {
  std::filesystem::path folder;
  BenchResult result;
};

/// In each round every reference runs twice and every cell once, in an order that begins with another one each time, so
/// that whatever else the machine does meets all of them. All run at record level summary: times and bytes, no tensors.
/// Cells that a sweep adds for its audit are left out. A cell that does not end well is told and left out of later
/// rounds. Writes bench.json and bench.md. Throws InputError as prepare_sweep does, RunError where a reference does
/// not end well, SystemError where a stop was asked for.
FinishedBench run_bench(const BenchOptions& options, std::FILE* log);

}  // namespace plumbline
