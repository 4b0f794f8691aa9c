// SPDX-License-Identifier: BSD-3-Clause
// Sums gradients over microbatches in a given order, so that a schedule with another summation order is still compared
// at 0 ULP.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "model/config.hpp"
#include "training/train_state.hpp"

namespace plumbline {

/// For each unit its microbatches in summation order; also for a parameter whose order differs from its unit's. In
/// groups: each group's sum starts at zero, and the sums are then added in order.
using AccumulationOrder = std::map<std::string, std::vector<std::vector<std::int64_t>>>;

/// Reads a CSV with the columns unit (or a parameter's name), microbatch and, if there are several groups, group, in
/// order. Throws InputError naming file, line and unit: unknown, duplicate, or missing; a group out of order.
AccumulationOrder read_accumulation_order(const std::filesystem::path& path, const LlamaConfig& config,
                                          std::int64_t microbatches);

/// Stores each microbatch's gradients separately and adds them at the end of the step.
class ListedAccumulation {
 public:
  explicit ListedAccumulation(AccumulationOrder order) : order_(std::move(order)) {}
  /// After a microbatch's backward pass: moves its gradients out of the parameters, leaving zeros.
  void take(std::int64_t microbatch, const TrainState& state);
  /// Adds all to the parameters' gradients, in order, and releases them.
  void add_all(const TrainState& state);

 private:
  AccumulationOrder order_;
  std::map<std::int64_t, std::vector<at::Tensor>> kept_;
};

}  // namespace plumbline
