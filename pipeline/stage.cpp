#include "pipeline/stage.hpp"

#include <utility>

#include "training/memory_meter.hpp"

namespace plumbline {
namespace {

LlamaSlice make_slice(const LlamaConfig& config, UnitRange units, at::ScalarType dtype, at::Device device) {
  const MemoryScope scope(MemoryOwner::parameters);
  return {config, units, dtype, device};
}

}  // namespace

Stage::Stage(const LlamaConfig& config, std::int64_t index, UnitRange units, at::ScalarType dtype,
             std::int64_t longest_sequence, at::Device device)
    : index_(index), slice_(make_slice(config, units, dtype, device)) {
  {
    const MemoryScope scope(MemoryOwner::gradients);
    slice_.allocate_gradients();
  }
  const MemoryScope scope(MemoryOwner::tables);
  slice_.prepare_tables(longest_sequence);
}

bool Stage::last() const {
  return !empty() && slice_.units().end == slice_.config().layers + 3;
}

at::Tensor Stage::forward(std::int64_t microbatch, at::Tensor input, const LossTarget& target) {
  if (empty()) return input;
  InFlight& state = in_flight_[microbatch];
  if (!first()) state.input = begin_graph(input);
  at::Tensor output = forward_units(slice_, std::move(input), target, nullptr);
  state.end = GraphEnd(output);
  return output.detach();
}

at::Tensor Stage::backward(std::int64_t microbatch, at::Tensor gradient) {
  if (empty()) return gradient;
  InFlight state = std::move(in_flight_.at(microbatch));
  in_flight_.erase(microbatch);
  state.end.backward(std::move(gradient));
  return state.input ? std::move(state.input->gradient) : at::Tensor();
}

at::Tensor Stage::backward_input(std::int64_t microbatch, at::Tensor gradient) {
  if (empty()) return gradient;
  InFlight& state = in_flight_.at(microbatch);
  const DeferWeightsScope scope(state.deferred);
  state.end.backward(std::move(gradient));
  return state.input ? std::move(state.input->gradient) : at::Tensor();
}

void Stage::backward_weight(std::int64_t microbatch) {
  if (empty()) return;
  in_flight_.at(microbatch).deferred.run();
  in_flight_.erase(microbatch);
}

}  // namespace plumbline
