// SPDX-License-Identifier: BSD-3-Clause
// In which order each stage sums its microbatches' gradients, and the file that tells a reference so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace plumbline {

/// Microbatches of one stage in the order of its gradients.
struct StageAccumulation {
  std::vector<std::int32_t> input;   ///< of its B and I: norms and embeddings sum then
  std::vector<std::int32_t> weight;  ///< of its B and W: linear layers sum then

  friend bool operator==(const StageAccumulation&, const StageAccumulation&) = default;
};

/// One entry a stage.
std::vector<StageAccumulation> accumulation_orders(const Schedule& schedule);

/// A CSV with the columns unit, microbatch: for each unit, in the order of `stage_units`, its microbatches in the order
/// in which its stage sums them. A decoder layer's norms have rows of their own, by parameter, where I and W of their
/// stage differ in order. Empty when every order is ascending, which needs no telling. `stage_units`: one entry a
/// stage, empty for a stage that holds nothing. Equal orders give equal bytes.
std::string accumulation_csv(const Schedule& schedule, const std::vector<std::vector<std::string>>& stage_units);

}  // namespace plumbline
