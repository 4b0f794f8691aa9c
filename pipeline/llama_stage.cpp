// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/llama_stage.hpp"

#include <ATen/core/grad_mode.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "training/make_slice.hpp"
#include "training/memory_meter.hpp"
#include "training/unit_pass.hpp"

namespace plumbline {

LlamaStage::LlamaStage(const TrainingRun& training, std::int64_t index, UnitRange units)
    : Stage(index, holds(training.config, units, UnitKind::head)),
      training_(training),
      slice_(make_slice(training, units)) {
  set_initial_values(slice_, training.run);
}

Microbatch LlamaStage::feed(const Pass& pass, std::int64_t step, std::int64_t microbatch) const {
  if (!first() && !last()) return {};
  Microbatch data = pass.data.make(pass.trains ? step : 0, microbatch);
  pass.observer.on_input(microbatch, data);
  return to_device(std::move(data), training_.device);
}

at::Tensor LlamaStage::forward(const Pass& pass, std::int64_t step, std::int64_t microbatch, at::Tensor input) {
  if (slice_.units().empty()) return input;
  const at::AutoGradMode saves(pass.trains);
  Microbatch data = feed(pass, step, microbatch);
  const MemoryScope scope(MemoryOwner::activations);
  std::shared_ptr<GradientSlot> slot;
  if (first()) {
    input = std::move(data.ids);
  } else {
    data.ids.reset();  // the last stage needs only the labels
    if (pass.trains) slot = begin_graph(input);
  }
  const Recompute recompute = pass.trains ? training_.run.train.recompute : Recompute::none;
  const std::int64_t valid_tokens = last() ? pass.data.step_valid_tokens(pass.trains ? step : 0) : 0;
  at::Tensor output = forward_units(slice_, std::move(input), {data.labels, valid_tokens}, recompute);
  if (pass.trains) {
    InFlight& state = in_flight_[microbatch];
    state.input = std::move(slot);
    state.end = GraphEnd(output);
  }
  if (!last()) return output.detach();
  pass.observer.on_loss(microbatch, output);
  return {};
}

at::Tensor LlamaStage::run_backward(InFlight& state, at::Tensor gradient) const {
  const MemoryScope scope(MemoryOwner::activations);
  state.end.backward(std::move(gradient));
  return state.input ? std::move(state.input->gradient) : at::Tensor();
}

at::Tensor LlamaStage::backward(std::int64_t /*step*/, std::int64_t microbatch, at::Tensor gradient) {
  if (slice_.units().empty()) return gradient;
  auto state = in_flight_.extract(microbatch);
  if (!state) throw std::logic_error("stage " + std::to_string(index()) + ": no forward pass of this microbatch");
  return run_backward(state.mapped(), std::move(gradient));
}

at::Tensor LlamaStage::backward_input(std::int64_t /*step*/, std::int64_t microbatch, at::Tensor gradient) {
  if (slice_.units().empty()) return gradient;
  InFlight& state = in_flight_.at(microbatch);
  const DeferWeightsScope deferring(state.deferred);
  return run_backward(state, std::move(gradient));
}

void LlamaStage::backward_weight(std::int64_t /*step*/, std::int64_t microbatch) {
  if (slice_.units().empty()) return;
  const MemoryScope scope(MemoryOwner::activations);
  in_flight_.at(microbatch).deferred.run();
  in_flight_.erase(microbatch);
}

}  // namespace plumbline
