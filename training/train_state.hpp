// SPDX-License-Identifier: BSD-3-Clause
// What training keeps of a rank's parameters from one step to the next, in one place: who updates, clips, sums or
// records works on this.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/parameter.hpp"
#include "training/run_file.hpp"

namespace plumbline {

/// A parameter with its gradient accumulator, `value.grad()` or its float32 sum, and what the optimiser keeps of it.
/// Moments are undefined where the optimiser lacks them, and of an alias, whose storage is updated under its owner's
/// name.
struct TrainedParameter : Parameter {
  std::int64_t stage = 0;
  at::Tensor moment1;  ///< AdamW's exp_avg, SGD's momentum buffer
  at::Tensor moment2;  ///< AdamW's exp_avg_sq
  at::Tensor updates;  ///< AdamW's own count, float32

  /// The gradient accumulator. Throws std::logic_error where none was allocated.
  at::Tensor gradient() const;
};

struct TrainState {
  TrainState() = default;
  /// The state of one slice alone: stage 0.
  TrainState(const OptimizerSettings& optimizer, const std::vector<Parameter>& slice);

  /// Makes the optimiser's tensors, zeroed, under MemoryOwner::optimizer, and shares the parameters' own with the
  /// slice. Throws std::logic_error for an optimiser that is not known.
  void add(const OptimizerSettings& optimizer, std::int64_t stage, const std::vector<Parameter>& slice);

  /// Bytes of the optimiser's tensors.
  std::int64_t optimizer_bytes() const;

  std::vector<TrainedParameter> parameters;  ///< stage by stage, each in canonical order
  std::int64_t step = 0;                     ///< steps done, and so the place in the data
};

void zero_gradients(const TrainState& state);
/// The copies that are computed with, anew from the masters; nothing where the values themselves are trained.
void round_masters(const TrainState& state);

}  // namespace plumbline
