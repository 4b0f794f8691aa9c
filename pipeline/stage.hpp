// SPDX-License-Identifier: BSD-3-Clause
// One stage of a pipeline, a contiguous range of the model's units, possibly empty; and the stages and the state of a
// rank.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "model/deferred_weights.hpp"
#include "model/llama_slice.hpp"
#include "model/unit.hpp"
#include "pipeline/pipeline_plan.hpp"
#include "pipeline/replica_sum.hpp"
#include "pipeline/transport/group.hpp"
#include "training/batch_plan.hpp"
#include "training/graph_edges.hpp"
#include "training/microbatch.hpp"
#include "training/run.hpp"
#include "training/step_observer.hpp"
#include "training/train_state.hpp"

namespace plumbline {

/// The data and observer of a step's or an evaluation's passes.
struct Pass {
  BatchPlan data;
  /// Receives the inputs of the first and last stage, and the losses.
  StepObserver& observer;
  bool trains = true;             ///< else nothing is saved for a backward pass
  std::int64_t valid_tokens = 0;  ///< of the step or evaluation, on the rank with the last stage
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

class LlamaStage : public Stage {
 public:
  /// Creates the parameters of these units only, with zeroed gradients and the run's initial values, each under its
  /// memory owner. Throws InputError for weights of another model.
  LlamaStage(const Run& run, std::int64_t index, UnitRange units);

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

  const Run& run_;
  LlamaSlice slice_;
  std::map<std::int64_t, InFlight> in_flight_;
};

struct RankParts {
  Stages stages;
  TrainState state;  ///< of all stages
  Group& pipeline;
  ReplicaSum* replicas = nullptr;  ///< null: one pipeline trains
};

/// Throws InputError for weights of another model.
RankParts make_rank_parts(const Run& run, const PipelinePlan& plan, Group& pipeline);

}  // namespace plumbline
