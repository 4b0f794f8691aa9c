// SPDX-License-Identifier: BSD-3-Clause
// The judge's closed form of the learning rate compared with the trainers', to the end of long schedules: two
// implementations of one formula.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/judge/predicates/forms.hpp"
#include "training/optimizer.hpp"

namespace plumbline {
namespace {

TEST(RatesAsJudged, AgreeAtEveryStepOfLongSchedules) {
  for (const std::int64_t steps : {1, 7, 800, 2000}) {
    for (const auto& [warmup, final_factor] : {std::pair{std::int64_t{0}, 0.0}, {steps / 10, 0.0}, {steps / 10, 0.3}}) {
      TrainSettings train;
      train.steps = steps;
      train.warmup_steps = warmup;
      train.start_factor = 0.1;
      train.final_factor = final_factor;
      train.optimizer.learning_rate = 3e-4;
      train.decay_steps = std::max<std::int64_t>(1, steps / 5);
      for (const char* curve : {"cosine", "linear", "constant", "wsd"}) {
        train.curve = curve;
        const predicates::LearningRateForm judged{3e-4, warmup, steps, 0.1, final_factor, curve, train.decay_steps};
        for (std::int64_t step = 0; step < steps; ++step) {
          const double rate = learning_rate(train, step);
          EXPECT_LE(std::abs(judged.at(step) - rate), 1e-15 * rate) << curve << ", step " << step << " of " << steps;
        }
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
