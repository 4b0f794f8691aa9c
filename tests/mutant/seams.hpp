// SPDX-License-Identifier: BSD-3-Clause
// Places where a fault can be injected into a rank of the pipeline trainer. The trainer does not know them: planted.cpp
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

/// One rank's seams. By default they change nothing.
class Seams {
 public:
  virtual ~Seams() = default;

  /// The transport of this rank.
  virtual Transport& transport(Transport& inner) { return inner; }
  /// After the rank's stages and state are made.
  virtual void made(const Run& /*run*/, const RankParts& /*parts*/) {}
  /// Before a stage computes: forward, or backward or half of it.
  virtual void stage_begins(bool /*forward*/, std::int64_t /*step*/, std::int64_t /*microbatch*/) {}
  /// A stage's input or output gradient, after it is recorded; on the last stage the gradient is undefined.
  virtual at::Tensor stage_input(at::Tensor input, std::int64_t /*step*/, std::int64_t /*microbatch*/) { return input; }
  virtual at::Tensor stage_gradient(at::Tensor gradient, std::int64_t /*step*/, std::int64_t /*microbatch*/) {
    return gradient;
  }
  /// A stage's output, before it is recorded and sent.
  virtual void stage_output(const at::Tensor& /*output*/, std::int64_t /*step*/, std::int64_t /*microbatch*/) {}
  virtual void stage_input_gradient(const at::Tensor& /*gradient*/, std::int64_t /*step*/,
                                    std::int64_t /*microbatch*/) {}
  /// Whether a layer that keeps only its input is recomputed; and that input, at the end of its forward pass.
  virtual bool recomputes() { return true; }
  virtual void kept_input(const at::Tensor& /*input*/) {}
  /// Mixed precision: after a microbatch's gradient is added to its sum; whether copies are updated in this step.
  virtual void gradient_added(const at::Tensor& /*sum*/) {}
  virtual bool rounds_masters(std::int64_t /*step*/) { return true; }
  /// Whether this step starts from zeroed gradients.
  virtual bool zeroes_gradients(std::int64_t /*step*/) { return true; }
  /// After the state of a resumed run is loaded from this checkpoint.
  virtual void resumed(const std::string& /*checkpoint*/, TrainState& /*state*/) {}
  /// Before and after an evaluation between two steps; its losses, on the rank that has them.
  virtual void evaluation_begins() {}
  virtual void evaluated(std::optional<EvaluationResult>& /*result*/) {}
  /// After W of a split backward pass is added to the gradients.
  virtual void weight_gradients_added(std::int64_t /*step*/, std::int64_t /*microbatch*/) {}
  /// The number of tokens by which a microbatch's loss is divided; the right one is `tokens`, those of the step.
  virtual std::int64_t tokens_of_loss(std::int64_t /*own_tokens*/, std::int64_t tokens) { return tokens; }
  /// The norms that make the global norm.
  virtual void norms(std::vector<ParameterNorm>& /*norms*/) {}
  /// The microbatch and step whose data is used, and the step whose learning rate is used, in this one.
  virtual std::int64_t microbatch_of_data(std::int64_t microbatch) { return microbatch; }
  virtual std::int64_t step_of_data(std::int64_t step) { return step; }
  virtual std::int64_t step_of_rate(std::int64_t step) { return step; }
  /// Before the sum of each stage over replicas, and after the sum of all.
  virtual void before_replica_sum(std::int64_t /*step*/, std::int64_t /*stage*/, int /*replica*/) {}
  virtual void after_replica_sum(int /*replica*/, int /*replicas*/) {}
  virtual void before_update(TrainState& /*state*/) {}
  virtual void after_update(TrainState& /*state*/) {}
};

}  // namespace plumbline::mutant
