// SPDX-License-Identifier: BSD-3-Clause
// A stage of the Llama: its units, and what its in-flight microbatches need for their backward pass. A stage without
// units forwards its input.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "model/deferred_weights.hpp"
#include "model/llama_slice.hpp"
#include "model/unit.hpp"
#include "pipeline/stage.hpp"
#include "training/graph_edges.hpp"
#include "training/microbatch.hpp"
#include "training/training_run.hpp"

namespace plumbline {

class LlamaStage : public Stage {
 public:
  /// Creates the parameters of these units only, with zeroed gradients and the run's initial values, each under its
  /// memory owner. Throws InputError for weights of another model.
  LlamaStage(const TrainingRun& training, std::int64_t index, UnitRange units);

  const LlamaSlice& slice() const { return slice_; }

  at::Tensor forward(const Pass& pass, std::int64_t step, std::int64_t microbatch, at::Tensor input) override;
  at::Tensor backward(std::int64_t step, std::int64_t microbatch, at::Tensor gradient) override;
  at::Tensor backward_input(std::int64_t step, std::int64_t microbatch, at::Tensor gradient) override;
  void backward_weight(std::int64_t step, std::int64_t microbatch) override;

 private:
  struct InFlight {
    std::shared_ptr<GradientSlot> input;
    GraphEnd end;
    DeferredWeights deferred;
  };
  Microbatch feed(const Pass& pass, std::int64_t step, std::int64_t microbatch) const;
  at::Tensor run_backward(InFlight& state, at::Tensor gradient) const;

  const TrainingRun& training_;
  LlamaSlice slice_;
  std::map<std::int64_t, InFlight> in_flight_;
};

}  // namespace plumbline
