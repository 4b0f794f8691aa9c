#include "training/step_update.hpp"

#include "training/clipping.hpp"
#include "training/learning_rate.hpp"
#include "training/memory_meter.hpp"
#include "training/optimizer.hpp"
#include "training/step_observer.hpp"

namespace plumbline {

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

void end_gradients(const TrainSettings& train, bool tied, std::int64_t step, TrainState& state, StepObserver& observer,
                   const std::function<double()>& global_norm) {
  if (const TiedWeight weight(tied, state); weight.within_a_slice()) {
    observer.before_tied_sum(weight);
    weight.add_uses();
  }
  observer.before_update(step, state);
  const StepUpdate update = update_parameters(train, step, global_norm(), state);
  observer.after_update(step, state, update);
}

}  // namespace plumbline
