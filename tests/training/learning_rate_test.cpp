// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "training/optimizer.hpp"

namespace plumbline {
namespace {

TrainSettings settings(std::int64_t steps, std::int64_t warmup_steps) {
  TrainSettings train;
  train.steps = steps;
  train.warmup_steps = warmup_steps;
  train.start_factor = 0.1;
  train.optimizer.learning_rate = 2.0;
  return train;
}

TEST(LearningRate, RisesLinearlyFromTheStartFactor) {
  const TrainSettings train = settings(10, 4);

  EXPECT_DOUBLE_EQ(learning_rate(train, 0), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(train, 1), 2.0 * (0.1 + 0.9 / 4));
  EXPECT_DOUBLE_EQ(learning_rate(train, 3), 2.0 * (0.1 + 0.9 * 3 / 4));
}

TEST(LearningRate, PeaksAtTheEndOfTheWarmUpThenFollowsTheCosine) {
  const TrainSettings train = settings(10, 4);

  EXPECT_EQ(learning_rate(train, 4), 2.0);
  EXPECT_DOUBLE_EQ(learning_rate(train, 7), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(train, 9), 1.0 + std::cos(std::numbers::pi * 5 / 6));
  EXPECT_GT(learning_rate(train, 9), 0);
}

TEST(LearningRate, TheCosineEndsAtTheFinalFactor) {
  TrainSettings train = settings(10, 4);
  train.final_factor = 0.25;

  EXPECT_EQ(learning_rate(train, 4), 2.0);
  EXPECT_DOUBLE_EQ(learning_rate(train, 7), 2.0 * (0.25 + 0.75 / 2));
  EXPECT_DOUBLE_EQ(learning_rate(train, 1), 2.0 * (0.1 + 0.9 / 4)) << "the warm-up does not know of it";
  train.final_factor = 1;
  EXPECT_EQ(learning_rate(train, 9), 2.0);
}

TEST(LearningRate, WithoutWarmUpTheFirstStepHasTheFullRate) {
  EXPECT_EQ(learning_rate(settings(1, 0), 0), 2.0);
}

TEST(LearningRate, AWarmUpOfAllStepsNeverReachesTheCosine) {
  const TrainSettings train = settings(4, 4);

  for (std::int64_t step = 0; step < 4; ++step) {
    EXPECT_DOUBLE_EQ(learning_rate(train, step), 2.0 * (0.1 + 0.9 * static_cast<double>(step) / 4));
  }
}

TEST(LearningRate, LinearFallsToTheFinalFactor) {
  TrainSettings train = settings(10, 4);
  train.curve = "linear";
  train.final_factor = 0.25;
  EXPECT_EQ(learning_rate(train, 4), 2.0);
  EXPECT_DOUBLE_EQ(learning_rate(train, 7), 2.0 * (0.25 + 0.75 / 2));
  EXPECT_DOUBLE_EQ(learning_rate(train, 9), 2.0 * (0.25 + 0.75 / 6));
}

TEST(LearningRate, ConstantAndStableDoNotDependOnTheNumberOfSteps) {
  for (const std::int64_t steps : {10, 1000}) {
    TrainSettings train = settings(steps, 4);
    train.curve = "constant";
    EXPECT_DOUBLE_EQ(learning_rate(train, 1), 2.0 * (0.1 + 0.9 / 4));
    EXPECT_EQ(learning_rate(train, 9), 2.0);
    train.curve = "wsd";
    train.decay_steps = 3;
    EXPECT_EQ(learning_rate(train, 6), 2.0);
  }
}

TEST(LearningRate, WarmUpStableDecayFallsInItsLastSteps) {
  TrainSettings train = settings(10, 4);
  train.curve = "wsd";
  train.decay_steps = 3;
  train.final_factor = 0.25;
  EXPECT_EQ(learning_rate(train, 7), 2.0);
  EXPECT_DOUBLE_EQ(learning_rate(train, 8), 2.0 * (0.25 + 0.75 * 2 / 3));
  EXPECT_DOUBLE_EQ(learning_rate(train, 9), 2.0 * (0.25 + 0.75 / 3));
}

}  // namespace
}  // namespace plumbline
