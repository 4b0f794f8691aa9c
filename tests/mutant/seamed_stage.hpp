// SPDX-License-Identifier: BSD-3-Clause
// A stage inside a rank's seams.
#pragma once

#include <memory>
#include <utility>

#include "tests/mutant/seams.hpp"
#include "training/memory_meter.hpp"

namespace plumbline::mutant {

class SeamedStage : public Stage {
 public:
  SeamedStage(std::unique_ptr<Stage> inner, Seams& seams)
      : Stage(inner->index(), inner->last()), inner_(std::move(inner)), seams_(seams) {}

  at::Tensor forward(const Pass& pass, std::int64_t step, std::int64_t microbatch, at::Tensor input) override {
    if (!pass.trains) return inner_->forward(pass, step, microbatch, std::move(input));
    seams_.stage_begins(true, step, microbatch);
    const MemoryScope scope(MemoryOwner::activations);
    if (!first()) input = seams_.stage_input(std::move(input), step, microbatch);
    at::Tensor output = inner_->forward(pass, step, microbatch, std::move(input));
    if (!last()) seams_.stage_output(output, step, microbatch);
    return output;
  }
  at::Tensor backward(std::int64_t step, std::int64_t microbatch, at::Tensor gradient) override {
    return given(step, microbatch, inner_->backward(step, microbatch, taken(step, microbatch, std::move(gradient))));
  }
  at::Tensor backward_input(std::int64_t step, std::int64_t microbatch, at::Tensor gradient) override {
    gradient = inner_->backward_input(step, microbatch, taken(step, microbatch, std::move(gradient)));
    return given(step, microbatch, std::move(gradient));
  }
  void backward_weight(std::int64_t step, std::int64_t microbatch) override {
    seams_.stage_begins(false, step, microbatch);
    inner_->backward_weight(step, microbatch);
    seams_.weight_gradients_added(step, microbatch);
  }

 private:
  at::Tensor taken(std::int64_t step, std::int64_t microbatch, at::Tensor gradient) {
    seams_.stage_begins(false, step, microbatch);
    const MemoryScope scope(MemoryOwner::activations);
    return seams_.stage_gradient(std::move(gradient), step, microbatch);
  }
  at::Tensor given(std::int64_t step, std::int64_t microbatch, at::Tensor gradient) {
    if (!first()) seams_.stage_input_gradient(gradient, step, microbatch);
    return gradient;
  }

  std::unique_ptr<Stage> inner_;
  Seams& seams_;
};

}  // namespace plumbline::mutant
