// SPDX-License-Identifier: BSD-3-Clause
// Times of one run of one round, from its record.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace plumbline {

struct BenchRound {
  std::vector<double> steps_ms;  ///< duration of each step but the first, on the slowest rank
  double tokens = 0;             ///< tokens per step, of all replicas
  /// Of a pipeline on at least 2 ranks; of several replicas, the first.
  struct Timeline {
    double bubble = 0, simulated_bubble = 0;
    double span_ms = 0, simulated_span_ms = 0;  ///< first F to last B or W
  };
  std::optional<Timeline> timeline;
};

/// `record`: of one pipeline, or the folder that holds one for each replica. Throws InputError if a record cannot be
/// read or has fewer than two steps.
BenchRound measure_round(const std::filesystem::path& record);

}  // namespace plumbline
