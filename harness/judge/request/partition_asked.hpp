// SPDX-License-Identifier: BSD-3-Clause
// Which units each stage of a partition must hold, worked out by the judge for itself: the trainer's partition
// (pipeline/partition, schedule/uniform_layers) is what it is held against, so it shares no code with it. A test holds
// one against the other over a range of sizes (tests/pipeline/partition_as_judged_test.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/judge/expected/expected_model.hpp"

namespace plumbline::judging {

struct PartitionAsked {
  std::string rule = "uniform";       ///< uniform | cost; says nothing where there is a balance
  std::vector<std::int64_t> balance;  ///< layers of each stage
};

/// Units of each of `stages` stages in the model's order. `rows`: the length that every row of one step is padded to,
/// in tokens; `cost` alone looks at them.
/// * uniform: L layers over S stages, the first L mod S stages one more; with S > L one layer each on stages 1, 2, ...
///   so that the first holds the embedding alone.
/// * cost: of all contiguous cuts one whose largest stage has the fewest FLOPs; of these the one with most layers
///   beside the head; the other stages share the rest as uniform does. FLOPs of a layer: 2 a weight and token, and 2
///   S^2 (heads x head size) for each row of S; of the head 2 H V + 4 H + 5 V a token.
/// Throws InputError for a balance that has not one number a stage or does not add up to the layers.
std::vector<std::vector<std::string>> partition_asked(const ExpectedModel& model, const PartitionAsked& asked,
                                                      std::int64_t stages, const std::vector<std::int64_t>& rows);

}  // namespace plumbline::judging
