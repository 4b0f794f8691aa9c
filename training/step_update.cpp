// SPDX-License-Identifier: BSD-3-Clause
#include "training/step_update.hpp"

#include <ATen/Tensor.h>
#include <ATen/ops/isfinite.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "support/error.hpp"
#include "support/numbers.hpp"
#include "training/memory_meter.hpp"
#include "training/optimizer.hpp"
#include "training/step_observer.hpp"

namespace plumbline {
namespace {

/// On every rank alike, since all have the same norm.
[[noreturn]] void refuse_to_go_on(std::int64_t step, double norm, const TrainState& state) {
  const auto found = std::ranges::find_if(
      state.parameters, [](const TrainedParameter& each) { return !at::isfinite(each.gradient()).all().item<bool>(); });
  throw NotFinite("step " + std::to_string(step) + ": the gradients are not finite (norm " + to_text(norm) + ")",
                  found == state.parameters.end() ? "" : found->name);
}

StepUpdate update_parameters(const TrainSettings& train, std::int64_t step, double global_norm, TrainState& state) {
  StepUpdate update;
  update.gradient_norm = global_norm;
  update.clip_coefficient = clip_coefficient(global_norm, train.clip_norm);
  update.learning_rate = learning_rate(train, step);
  const MemoryScope scope(MemoryOwner::other);
  scale_gradients(state, update.clip_coefficient);
  optimizer_step(train.optimizer, state, update.learning_rate);
  return update;
}

}  // namespace

void end_gradients(const Run& run, std::int64_t step, TrainState& state, StepObserver& observer,
                   const std::function<double()>& global_norm) {
  if (const TiedWeight weight(run.config.tied, state); weight.within_a_slice()) weight.add_uses();
  observer.before_update(step, state);
  const double norm = global_norm();
  if (run.stops_where_not_finite && !std::isfinite(norm)) refuse_to_go_on(step, norm, state);
  const StepUpdate update = update_parameters(run.train, step, norm, state);
  observer.after_update(step, state, update);
}

}  // namespace plumbline
