// SPDX-License-Identifier: BSD-3-Clause
// The result of a benchmark for people and for programs.
#pragma once

#include <string>

#include "harness/bench/bench_result.hpp"
#include "support/json.hpp"

namespace plumbline {

/// Whether the machine was quiet, and a Markdown table with a row for each cell.
std::string bench_text(const BenchResult& result);

/// The same for a terminal: some lines for each reference and cell.
std::string bench_lines(const BenchResult& result);

/// The JSON of Google Benchmark's reporter, which its tools/compare.py reads: a benchmark for each reference and cell,
/// an entry for each round. `real_time` is the median step of the round in milliseconds; `cpu_time`, which compare.py
/// wants, repeats it. Counters: tokens_per_s, and of a cell speed (tokens/s over those of the reference of the round).
Json google_benchmark_json(const BenchResult& result);

}  // namespace plumbline
