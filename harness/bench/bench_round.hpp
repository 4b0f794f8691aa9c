// SPDX-License-Identifier: BSD-3-Clause
// What one run of one round took, by its record.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace plumbline {

struct BenchRound {
  std::vector<double> steps_ms;  ///< of each step but the first: of the rank that took longest
  double tokens = 0;             ///< of a step
  /// Of a pipeline on 2 ranks and more.
  struct Timeline {
    double bubble = 0, simulated_bubble = 0;
    double span_ms = 0, simulated_span_ms = 0;  ///< first F to last B or W
  };
  std::optional<Timeline> timeline;
};

/// Throws InputError where the record cannot be read, or has no second step.
BenchRound measure_round(const std::filesystem::path& record);

}  // namespace plumbline
