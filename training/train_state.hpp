// SPDX-License-Identifier: BSD-3-Clause
// A rank's training state between steps: parameters, gradients and optimizer state; and the weight that a tied model's
// embedding and head share.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/parameter.hpp"
#include "training/run_file.hpp"

namespace plumbline {

/// A parameter with its gradient accumulator (`value.grad()` or its float32 sum) and its optimizer state. Moments are
/// undefined if the optimizer has none, and for an alias, whose owner holds them.
struct TrainedParameter : Parameter {
  std::int64_t stage = 0;
  at::Tensor moment1;  ///< AdamW's exp_avg, SGD's momentum buffer
  at::Tensor moment2;  ///< AdamW's exp_avg_sq
  at::Tensor updates;  ///< AdamW's own count, float32

  /// The gradient accumulator. Throws std::logic_error if none was allocated.
  at::Tensor gradient() const;
};

struct TrainState {
  TrainState() = default;
  /// The state of a single slice: stage 0.
  TrainState(const OptimizerSettings& optimizer, const std::vector<Parameter>& slice);

  /// Allocates zeroed optimizer tensors under MemoryOwner::optimizer; shares the parameters with the slice. Throws
  /// std::logic_error for an unknown optimizer.
  void add(const OptimizerSettings& optimizer, std::int64_t stage, const std::vector<Parameter>& slice);

  /// Bytes of the optimizer's tensors.
  std::int64_t optimizer_bytes() const;

  std::vector<TrainedParameter> parameters;  ///< stage by stage, each in canonical order
  std::int64_t step = 0;                     ///< number of completed steps, which is also the position in the data
};

/// The gradients without their shapes, in order; those that follow each other in memory are one tensor. Throws
/// std::logic_error for a gradient that is not contiguous.
std::vector<at::Tensor> gradient_runs(const TrainState& state);

void zero_gradients(const TrainState& state);
/// Rounds all masters to the copies; does nothing if the values themselves are trained.
void round_masters(const TrainState& state);

/// Holds pointers into the state's parameters, so its lifetime must not exceed theirs.
class TiedWeight {
 public:
  /// `tied` false: the model has no tied weight.
  TiedWeight(bool tied, const TrainState& state);

  const TrainedParameter* embedding() const { return embedding_; }  ///< null if another rank holds it
  const TrainedParameter* head() const { return head_; }            ///< null if another rank holds it
  bool both() const { return embedding_ != nullptr && head_ != nullptr; }
  /// Whether both uses are in one slice, so that the list has no action for their sum.
  bool within_a_slice() const { return head_ != nullptr && head_->alias; }
  /// The copies on this rank, embedding first.
  std::vector<const TrainedParameter*> held() const;

  /// If both uses are here: embedding's gradient += head's, then the head's gradient = the sum. Otherwise does nothing.
  void add_uses() const;

 private:
  const TrainedParameter* embedding_ = nullptr;
  const TrainedParameter* head_ = nullptr;
};

}  // namespace plumbline
