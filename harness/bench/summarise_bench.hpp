// SPDX-License-Identifier: BSD-3-Clause
// Computes a benchmark's figures from its rounds.
#pragma once

#include <vector>

#include "harness/bench/bench_result.hpp"
#include "harness/bench/bench_round.hpp"

namespace plumbline {

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

}  // namespace plumbline
