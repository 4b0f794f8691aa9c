// SPDX-License-Identifier: BSD-3-Clause
// One stage of a pipeline: a contiguous range of the model's units, possibly empty.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "training/batch_plan.hpp"
#include "training/step_observer.hpp"

namespace plumbline {

/// Whose forward and backward passes run: those of a step, or those of an evaluation.
struct Pass {
  const BatchPlan& data;
  /// Receives the inputs of the first and last stage, and the losses.
  StepObserver& observer;
  bool trains = true;  ///< else nothing is saved for a backward pass
};

class Stage {
 public:
  Stage(std::int64_t index, bool last) : index_(index), last_(last) {}
  virtual ~Stage() = default;

  std::int64_t index() const { return index_; }
  bool first() const { return index_ == 0; }  ///< its input is the data
  bool last() const { return last_; }         ///< its output is the loss

  /// `input`: the boundary activation [batch, sequence, hidden]. Returns the next one. If the pass
  /// trains, saves what the backward pass needs.
  virtual at::Tensor forward(const Pass& pass, std::int64_t step, std::int64_t microbatch, at::Tensor input) = 0;
  /// `gradient` of the stage's output; on the last stage undefined, meaning 1, the loss's own. Returns the gradient of
  /// the stage's input; undefined on the first stage.
  virtual at::Tensor backward(std::int64_t step, std::int64_t microbatch, at::Tensor gradient) = 0;
  /// The two halves of a split backward pass: the gradient of the input, then the deferred weight gradients.
  virtual at::Tensor backward_input(std::int64_t step, std::int64_t microbatch, at::Tensor gradient) = 0;
  virtual void backward_weight(std::int64_t step, std::int64_t microbatch) = 0;

 private:
  std::int64_t index_;
  bool last_;
};

using Stages = std::vector<std::unique_ptr<Stage>>;

}  // namespace plumbline
