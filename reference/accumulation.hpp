// SPDX-License-Identifier: BSD-3-Clause
// Sums gradients over microbatches in an order of someone else's: so that a schedule with another order is still held
// to 0 ULP.
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

/// For each unit the microbatches in the order in which its gradients are added; for a single parameter too, where its
/// order is another than its unit's.
using AccumulationOrder = std::map<std::string, std::vector<std::int64_t>>;

/// A CSV with the columns unit (or a parameter's name), microbatch, in order. Throws InputError naming file, line and
/// unit: unknown, twice, or missing.
AccumulationOrder read_accumulation_order(const std::filesystem::path& path, const LlamaConfig& config,
                                          std::int64_t microbatches);

/// Keeps each microbatch's gradients apart and adds them at the step's end.
class ListedAccumulation {
 public:
  explicit ListedAccumulation(AccumulationOrder order) : order_(std::move(order)) {}
  /// After a microbatch's backward: takes its gradients out of the parameters, leaving zeros.
  void take(std::int64_t microbatch, const TrainState& state);
  /// Adds all into the parameters' gradients, in order, and forgets them.
  void add_all(const TrainState& state);

 private:
  AccumulationOrder order_;
  std::map<std::int64_t, std::vector<at::Tensor>> kept_;
};

}  // namespace plumbline
