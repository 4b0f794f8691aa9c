// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/llama_stage.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "training/make_slice.hpp"
#include "training/memory_meter.hpp"
#include "training/unit_pass.hpp"

namespace plumbline {

LlamaStage::LlamaStage(const TrainingRun& training, std::int64_t index, UnitRange units, StepObserver& observer)
    : Stage(index, holds(training.config, units, UnitKind::head)),
      training_(training),
      slice_(make_slice(training, units)),
      observer_(observer) {
  set_initial_values(slice_, training.run);
}

Microbatch LlamaStage::feed(std::int64_t step, std::int64_t microbatch) {
  if (!first() && !last()) return {};
  Microbatch data = training_.plan.make(step, microbatch);
  observer_.on_input(microbatch, data);
  return to_device(std::move(data), training_.device);
}

at::Tensor LlamaStage::forward(std::int64_t step, std::int64_t microbatch, at::Tensor input) {
  if (slice_.units().empty()) return input;
  Microbatch data = feed(step, microbatch);
  const MemoryScope scope(MemoryOwner::activations);
  InFlight& state = in_flight_[microbatch];
  if (first()) {
    input = std::move(data.ids);
  } else {
    data.ids.reset();  // the last stage needs only the labels
    state.input = begin_graph(input);
  }
  at::Tensor output = forward_units(slice_, std::move(input), {data.labels, training_.plan.step_valid_tokens()},
                                    training_.run.train.recompute);
  state.end = GraphEnd(output);
  if (!last()) return output.detach();
  observer_.on_loss(microbatch, output);
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
