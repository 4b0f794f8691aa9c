// SPDX-License-Identifier: BSD-3-Clause
// The figures of a benchmark: of each round from its record, and of all rounds with confidence intervals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "harness/bench/bench_result.hpp"

namespace plumbline {

/// One run of one round.
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

/// A reference's runs, and its second runs of the same rounds.
struct ReferenceRounds {
  std::vector<BenchRound> first, second;
};

/// Sets the figures of `reference`. Rounds are matched by index: one run of each in every round.
void summarise(const ReferenceRounds& rounds, BenchReference& reference);

/// Sets the figures of `cell`, relative to the reference's runs of the same rounds. `cores`: of the machine.
void summarise(const std::vector<BenchRound>& rounds, const ReferenceRounds& reference, std::int64_t cores,
               BenchCell& cell);

/// Noise: the largest relative deviation from 1 of the median ratio of two equal programs, by the farthest end of the
/// interval of any reference's `second`.
double noise_of(const std::vector<BenchReference>& references);

/// The order statistics, counted from both ends, that enclose the median of `count` values with 95 % confidence, and
/// the actual confidence: less for few values, whose smallest and largest are used (five: 93.75 %). Uses the binomial
/// distribution; assumes only independent values.
struct OrderStatistics {
  std::size_t from_end = 0;
  double coverage = 0;
};
OrderStatistics order_statistics_of_median(std::size_t count);

/// Requires at least one value.
MedianInterval median_interval(std::vector<double> values);

}  // namespace plumbline
