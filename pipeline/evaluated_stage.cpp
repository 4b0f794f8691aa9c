#include "pipeline/evaluated_stage.hpp"

#include <ATen/core/grad_mode.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "model/unit.hpp"
#include "training/memory_meter.hpp"
#include "training/microbatch.hpp"
#include "training/unit_pass.hpp"

namespace plumbline {
namespace {

[[noreturn]] void refuse_backward(std::int64_t stage) {
  throw std::logic_error("stage " + std::to_string(stage) + ": an evaluation has no backward pass");
}

}  // namespace

bool EvaluatedStage::last() const {
  return holds(slice_.config(), slice_.units(), UnitKind::head);
}

at::Tensor EvaluatedStage::forward(std::int64_t /*step*/, std::int64_t microbatch, at::Tensor input) {
  if (slice_.units().empty()) return input;
  const at::NoGradGuard no_grad;
  Microbatch data;
  if (first() || last()) {
    Microbatch made = evaluation_.plan.make(0, microbatch);
    observer_.fed(microbatch, made);
    data = to_device(std::move(made), evaluation_.device);
  }
  const MemoryScope scope(MemoryOwner::activations);
  at::Tensor output = forward_units(slice_, first() ? std::move(data.ids) : std::move(input),
                                    {data.labels, evaluation_.plan.step_valid_tokens()}, Recompute::none);
  if (!last()) return output;
  observer_.lost(microbatch, output);
  return {};
}

at::Tensor EvaluatedStage::backward(std::int64_t /*step*/, std::int64_t /*microbatch*/, at::Tensor /*gradient*/) {
  refuse_backward(index_);
}

at::Tensor EvaluatedStage::backward_input(std::int64_t /*step*/, std::int64_t /*microbatch*/, at::Tensor /*gradient*/) {
  refuse_backward(index_);
}

void EvaluatedStage::backward_weight(std::int64_t /*step*/, std::int64_t /*microbatch*/) {
  refuse_backward(index_);
}

}  // namespace plumbline
