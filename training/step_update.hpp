// SPDX-License-Identifier: BSD-3-Clause
// What follows a step's last backward pass, alike in both trainers: gradients of tied uses added, norm, clipping,
// update.
#pragma once

#include <cstdint>
#include <functional>

#include "training/run_file.hpp"
#include "training/train_state.hpp"

namespace plumbline {

class StepObserver;

struct StepUpdate {
  double gradient_norm = 0;
  double clip_coefficient = 1;
  double learning_rate = 0;
};

/// Clips by the global norm and updates, seen by `observer`. Every rank calls it, also one that owns nothing.
/// `global_norm`, the same on all, is asked once, when this rank's gradients are complete. Throws RunError where they
/// are not finite and training is to end there.
void end_gradients(const TrainSettings& train, bool tied, std::int64_t step, TrainState& state, StepObserver& observer,
                   const std::function<double()>& global_norm);

}  // namespace plumbline
