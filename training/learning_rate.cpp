// SPDX-License-Identifier: BSD-3-Clause
#include "training/learning_rate.hpp"

#include <cmath>
#include <numbers>

namespace plumbline {

double learning_rate(const TrainSettings& train, std::int64_t step) {
  const double peak = train.optimizer.learning_rate;
  const auto done = static_cast<double>(step);
  const auto warmup = static_cast<double>(train.warmup_steps);
  if (step < train.warmup_steps) {
    return peak * (train.start_factor + (1.0 - train.start_factor) * done / warmup);
  }
  const double progress = (done - warmup) / (static_cast<double>(train.steps) - warmup);
  const double half_cosine = (1.0 + std::cos(std::numbers::pi * progress)) / 2.0;
  return peak * (train.final_factor + (1.0 - train.final_factor) * half_cosine);
}

}  // namespace plumbline
