// SPDX-License-Identifier: BSD-3-Clause
// The order in which each stage sums its microbatches' gradients, and the file that gives it to a reference.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace plumbline {

/// Microbatches of one stage in the order of its gradient sums.
struct StageAccumulation {
  std::vector<std::int32_t> input;   ///< order of B and I, in which norms and embeddings are summed
  std::vector<std::int32_t> weight;  ///< order of B and W, in which linear layers are summed

  friend bool operator==(const StageAccumulation&, const StageAccumulation&) = default;
};

/// One entry per stage.
std::vector<StageAccumulation> accumulation_orders(const Schedule& schedule);

/// A CSV with the columns unit, microbatch and, of several replicas, group: for each unit, in the order of
/// `stage_units`, its microbatches in summation order. A decoder layer's norms have rows of their own, by parameter, if
/// the orders of I and W differ in their stage. Empty for a single pipeline whose orders are all ascending.
/// `stage_units`: one entry per stage, empty for a stage without units. Equal orders give equal bytes. Each of several
/// replicas executes the schedule on a part of the step's microbatches, which are numbered from the first replica's
/// first on; its sum is a group.
std::string accumulation_csv(const Schedule& schedule, const std::vector<std::vector<std::string>>& stage_units,
                             std::int32_t replicas = 1);

}  // namespace plumbline
