// SPDX-License-Identifier: BSD-3-Clause
// Text and JSON of a benchmark's result.
#pragma once

#include <string>

#include "harness/bench/bench_result.hpp"
#include "support/json.hpp"

namespace plumbline {

/// States whether the machine was quiet, followed by a Markdown table with a row per case.
std::string bench_text(const BenchResult& result);

/// The same for a terminal: some lines per reference and case.
std::string bench_lines(const BenchResult& result);

/// JSON in the format of Google Benchmark, for its tools/compare.py: a benchmark per reference and case, an entry per
/// round. `real_time` is the median step of the round in milliseconds; `cpu_time`, which compare.py requires, repeats
/// it. Counters: tokens_per_s and, for cases, speed (tokens/s relative to the reference of the round).
Json google_benchmark_json(const BenchResult& result);

}  // namespace plumbline
