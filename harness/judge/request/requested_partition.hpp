// SPDX-License-Identifier: BSD-3-Clause
// The expected units of each stage of a partition, computed independently of the trainers' code (pipeline/partition,
// schedule/uniform_layers), which it is compared with. A test compares both over a range of sizes
// (tests/pipeline/partition_as_judged_test.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/judge/expected/expected_model.hpp"

namespace plumbline::judging {

struct RequestedPartition {
  std::string rule = "uniform";       ///< uniform | cost; ignored if there is a balance
  std::vector<std::int64_t> balance;  ///< layers, or halves of them, of each stage
};

/// Units of each of `stages` stages in the model's order; "layers" are half layers if they are units of the model.
/// `rows`: the padded length in tokens of every row of one step, used only by `cost`.
/// * uniform: L layers over S stages, the first L mod S stages one more; with S > L one layer each on stages 1, 2, ...
///   so that the first holds the embedding alone.
/// * cost: minimizes the FLOPs of the largest stage over the number of layers next to the head, the largest among
/// equals;
///   the other stages share the rest as in uniform. FLOPs of a layer: 2 per weight and token, and of its attention 2
///   S^2 (heads x head size) for each row of S; of the head: 2 H V + 4 H + 5 V per token. If layers are halved, all of
///   this is tripled for the backward pass, and attention's 2 S^2 are 14 S^2.
///
/// Throws InputError for a balance that does not have one number per stage or does not add up to the layers.
std::vector<std::vector<std::string>> requested_partition(const ExpectedModel& model,
                                                          const RequestedPartition& requested, std::int64_t stages,
                                                          const std::vector<std::int64_t>& rows);

}  // namespace plumbline::judging
