// SPDX-License-Identifier: BSD-3-Clause
// `plumbline bench`: runs references and cases of a sweep file alternately in rounds.
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

/// In each round every reference runs twice and every case once. The order rotates from round to round, so that other
/// load on the machine affects all of them. All run at record level summary: times and bytes, no tensors. Cases that a
/// sweep adds for audit are skipped. A case that does not end well is reported and skipped in later rounds. Writes
/// bench.json and bench.md. Throws InputError as prepare_sweep does, RunError if a reference does not end well,
/// SystemError if a stop was requested.
FinishedBench run_bench(const BenchOptions& options, std::FILE* log);

}  // namespace plumbline
