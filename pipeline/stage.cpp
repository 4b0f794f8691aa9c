// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/stage.hpp"

#include <ATen/core/grad_mode.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "training/memory_meter.hpp"
#include "training/model_slice.hpp"

namespace plumbline {

LlamaStage::LlamaStage(const Run& run, std::int64_t index, UnitRange units)
    : Stage(index, holds(run.config, units, UnitKind::head)), run_(run), slice_(make_slice(run, units)) {
  set_initial_values(slice_, run.file);
}

Microbatch LlamaStage::feed(const Pass& pass, std::int64_t step, std::int64_t microbatch) const {
  if (!first() && !last()) return {};
  Microbatch data = pass.data.make(pass.trains ? step : 0, microbatch);
  pass.observer.on_input(microbatch, data);
  return to_device(std::move(data), run_.device);
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
  const Recompute recompute = pass.trains ? run_.train.recompute : Recompute::none;
  at::Tensor output = forward_units(slice_, std::move(input), {data.labels, pass.valid_tokens}, recompute);
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

RankParts make_rank_parts(const Run& run, const PipelinePlan& plan, Group& pipeline) {
  const MemoryScope scope(MemoryOwner::other);
  RankParts parts{{}, {}, pipeline};
  for (const std::int32_t index : plan.schedule.placement.stages_on(pipeline.rank())) {
    auto stage = std::make_unique<LlamaStage>(run, index, plan.stages.at(static_cast<std::size_t>(index)));
    parts.state.add(run.train.optimizer, index, stage->slice().parameters());
    parts.stages.push_back(std::move(stage));
  }
  return parts;
}

}  // namespace plumbline
