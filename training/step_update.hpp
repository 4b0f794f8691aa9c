// SPDX-License-Identifier: BSD-3-Clause
// What follows a step's last backward pass, the same in both trainers: adding gradients of tied uses, norm, clipping,
// update.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "support/error.hpp"
#include "training/run.hpp"
#include "training/train_state.hpp"

namespace plumbline {

class StepObserver;

struct StepUpdate {
  double gradient_norm = 0;
  double clip_coefficient = 1;
  double learning_rate = 0;
};

/// Gradients of a step that are not finite, before the update. Every rank throws it in the same step.
class NotFinite : public RunError {
 public:
  NotFinite(const std::string& message, std::string name) : RunError(message), first_in(std::move(name)) {}
  std::string first_in;  ///< the rank's first parameter with such a gradient; empty if it has none
};

/// Clips by the global norm and updates; `observer` is notified. Every rank calls it, even without parameters.
/// `global_norm`, the same on all ranks, is called once, when this rank's gradients are complete. Throws NotFinite for
/// gradients that are not finite, unless the run is recorded.
void end_gradients(const Run& run, std::int64_t step, TrainState& state, StepObserver& observer,
                   const std::function<double()>& global_norm);

}  // namespace plumbline
