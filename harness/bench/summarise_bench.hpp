// SPDX-License-Identifier: BSD-3-Clause
// From the rounds of a bench to its figures.
#pragma once

#include <vector>

#include "harness/bench/bench_result.hpp"
#include "harness/bench/bench_round.hpp"

namespace plumbline {

/// Of one reference: its runs and the second ones of the same rounds.
struct ReferenceRounds {
  std::vector<BenchRound> first, second;
};

/// Puts the figures into `reference`. Rounds are told together by their place: one of each in every round.
void summarise(const ReferenceRounds& rounds, BenchReference& reference);

/// Puts the figures into `cell`, against the reference's runs of the same rounds. `cores`: of the machine.
void summarise(const std::vector<BenchRound>& rounds, const ReferenceRounds& reference, std::int64_t cores,
               BenchCell& cell);

/// By how large a share the median of ratios of two equal programs may lie off 1: the farthest end of the interval of
/// any reference's `second`.
double noise_of(const std::vector<BenchReference>& references);

}  // namespace plumbline
