// SPDX-License-Identifier: BSD-3-Clause
// The results of `plumbline bench`: bench.json next to a sweep's verdict.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

/// A reference or a case, over its rounds.
struct BenchRow {
  std::string name;
  std::int64_t rounds = 0;
  double median_ms = 0, low_ms = 0, high_ms = 0;  ///< of a step
  std::optional<double> speed = {};               ///< median of tokens/s over the reference's
};

struct BenchRows {
  std::vector<BenchRow> rows;
  std::optional<double> noise;  ///< of two runs of the same reference, as a share; only if the machine was not quiet
};

/// Reads <folder>/bench.json; nothing if there is none. Throws InputError naming the file.
BenchRows read_bench_rows(const std::filesystem::path& folder);

}  // namespace plumbline
