// SPDX-License-Identifier: BSD-3-Clause
// The places where a fault may stand in a rank of the pipeline trainer. The trainer knows nothing of them: planted.cpp
// puts them around its parts when the mutant program is linked.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/llama_slice.hpp"
#include "model/unit.hpp"
#include "pipeline/pipeline_plan.hpp"
#include "pipeline/stage.hpp"
#include "training/gradient_norm.hpp"
#include "training/trainer.hpp"

namespace plumbline::mutant {

/// One rank's. Every default hands on what it was given.
class Seams {
 public:
  virtual ~Seams() = default;

  /// What moves this rank's tensors.
  virtual Transport& transport(Transport& inner) { return inner; }
  /// After the rank's stages and its state were made.
  virtual void made(const Run& /*run*/, const RankParts& /*parts*/) {}
  /// A stage is about to compute: forward, or backward or a half of it.
  virtual void stage_begins(bool /*forward*/, std::int64_t /*step*/, std::int64_t /*microbatch*/) {}
  /// An activation or gradient as a stage takes it, after it was recorded; the gradient undefined on the last stage.
  virtual at::Tensor stage_input(at::Tensor input, std::int64_t /*step*/, std::int64_t /*microbatch*/) { return input; }
  virtual at::Tensor stage_gradient(at::Tensor gradient, std::int64_t /*step*/, std::int64_t /*microbatch*/) {
    return gradient;
  }
  /// What a stage made, before it is recorded and sent.
  virtual void stage_output(const at::Tensor& /*output*/, std::int64_t /*step*/, std::int64_t /*microbatch*/) {}
  virtual void stage_input_gradient(const at::Tensor& /*gradient*/, std::int64_t /*step*/,
                                    std::int64_t /*microbatch*/) {}
  /// Whether a layer of which its input alone is to be kept is computed again; and that input, when its forward pass
  /// has ended.
  virtual bool recomputes() { return true; }
  virtual void kept_input(const at::Tensor& /*input*/) {}
  /// Mixed precision: after a microbatch's gradient was added into its sum; whether copies are made anew in this step.
  virtual void gradient_added(const at::Tensor& /*sum*/) {}
  virtual bool rounds_masters(std::int64_t /*step*/) { return true; }
  /// Whether this step starts from zeroed gradients.
  virtual bool zeroes_gradients(std::int64_t /*step*/) { return true; }
  /// After what a run goes on with was loaded from this checkpoint.
  virtual void resumed(const std::string& /*checkpoint*/, TrainState& /*state*/) {}
  /// Around an evaluation between two steps; its losses on the rank that owns them.
  virtual void evaluation_begins() {}
  virtual void evaluated(std::optional<EvaluationResult>& /*result*/) {}
  /// W of a split backward pass was added into the gradients.
  virtual void weight_gradients_added(std::int64_t /*step*/, std::int64_t /*microbatch*/) {}
  /// By how many tokens a microbatch's loss is divided, which has so many of its own; those of the step by right.
  virtual std::int64_t tokens_of_loss(std::int64_t /*own_tokens*/, std::int64_t tokens) { return tokens; }
  /// What the global norm is added from.
  virtual void norms(std::vector<ParameterNorm>& /*norms*/) {}
  /// The microbatch, and the step, whose data are fed, and the step whose learning rate is taken, in this one.
  virtual std::int64_t microbatch_of_data(std::int64_t microbatch) { return microbatch; }
  virtual std::int64_t step_of_data(std::int64_t step) { return step; }
  virtual std::int64_t step_of_rate(std::int64_t step) { return step; }
  /// Around the sum over replicas: before that of each stage, and after that of all.
  virtual void before_replica_sum(std::int64_t /*step*/, std::int64_t /*stage*/, int /*replica*/) {}
  virtual void after_replica_sum(int /*replica*/, int /*replicas*/) {}
  virtual void before_update(TrainState& /*state*/) {}
  virtual void after_update(TrainState& /*state*/) {}
};

}  // namespace plumbline::mutant
