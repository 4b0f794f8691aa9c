// SPDX-License-Identifier: BSD-3-Clause
#include "training/optimizer.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "model/parameter.hpp"
#include "tests/training/parameters.hpp"
#include "training/memory_meter.hpp"

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
  EXPECT_DOUBLE_EQ(learning_rate(train, 1), 2.0 * (0.1 + 0.9 / 4)) << "the warm-up does not use it";
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

using ::testing::ElementsAre;
using testing::numbers_of;
using testing::parameter_of;
using testing::state_of;

TEST(ClipCoefficient, IsLimitOverNormWithoutEpsilon) {
  EXPECT_EQ(clip_coefficient(4.0, 1.0), 0.25);
  EXPECT_EQ(clip_coefficient(3.0, 1.0), 1.0 / 3.0);
  EXPECT_EQ(clip_coefficient(1.0, 1.0), 1.0);
  EXPECT_EQ(clip_coefficient(0.5, 1.0), 1.0);
  EXPECT_EQ(clip_coefficient(0.0, 1.0), 1.0);
}

TEST(ClipCoefficient, IsOneWithoutALimit) {
  EXPECT_EQ(clip_coefficient(1e9, std::nullopt), 1.0);
}

TEST(ClipCoefficient, IsNanForANanNorm) {
  EXPECT_TRUE(std::isnan(clip_coefficient(std::numeric_limits<double>::quiet_NaN(), 1.0)));
}

TEST(ScaleGradients, RoundsOnce) {
  const double coefficient = 0.7;
  std::vector<double> numbers{0, 1e-30F, -3.3e7F};
  for (int i = 1; i < 100; ++i) numbers.push_back(static_cast<float>(std::sin(i)));
  std::vector<Parameter> parameters{parameter_of("a", numbers, numbers)};

  scale_gradients(state_of(parameters), coefficient);

  int other_if_rounded_twice = 0;
  const std::vector<double> scaled = numbers_of(parameters[0].value.grad());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(scaled[i], static_cast<double>(static_cast<float>(numbers[i] * coefficient)));
    const float twice = static_cast<float>(numbers[i]) * static_cast<float>(coefficient);
    other_if_rounded_twice += static_cast<double>(twice) == scaled[i] ? 0 : 1;
  }
  EXPECT_GT(other_if_rounded_twice, 0) << "these numbers cannot reveal a rounded coefficient";
}

TEST(ScaleGradients, ScalesFloat64WithoutATensor) {
  std::vector<Parameter> parameters{parameter_of("a", {0, 0}, {1.1, -3}, at::kDouble)};
  const TrainState state = state_of(parameters);
  MemoryMeter& meter = new_memory_meter();
  meter.attach();

  scale_gradients(state, 0.7);

  EXPECT_EQ(meter.total().peak, 0);
  EXPECT_THAT(numbers_of(parameters[0].value.grad()), ElementsAre(1.1 * 0.7, -3 * 0.7));
}

TEST(ScaleGradients, RoundsOnceToBfloat16) {
  // Neighbors of 1 are 2^-7 apart. A value closer to half-way than float32 can represent rounds to the nearer
  // neighbor.
  for (const auto& [coefficient, expected] :
       std::vector<std::pair<double, double>>{{1 + 0x1p-8, 1},
                                              {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-7},
                                              {1 + 3 * 0x1p-8, 1 + 0x1p-6},
                                              {1 + 3 * 0x1p-8 - 0x1p-40, 1 + 0x1p-7},
                                              {1 - 0x1p-9 - 0x1p-40, 1 - 0x1p-8},
                                              {0x1p-140, 0},
                                              {0x1p-130, 0x1p-130}}) {
    std::vector<Parameter> parameters{parameter_of("a", {0, 0}, {1, -1}, at::kBFloat16)};

    scale_gradients(state_of(parameters), coefficient);

    EXPECT_THAT(numbers_of(parameters[0].value.grad()), ElementsAre(expected, -expected)) << coefficient;
  }
}

TEST(ScaleGradients, RoundsBfloat16ToNearest) {
  std::vector<double> numbers;
  for (int i = 1; i < 1000; ++i) numbers.push_back(std::sin(i));
  std::vector<Parameter> parameters{parameter_of("a", numbers, numbers, at::kBFloat16)};
  const std::vector<double> before = numbers_of(parameters[0].value.grad());

  scale_gradients(state_of(parameters), 0.7);

  const std::vector<double> scaled = numbers_of(parameters[0].value.grad());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double exact = before[i] * 0.7;
    const double half_ulp = std::ldexp(1.0, std::ilogb(scaled[i]) - 8);
    EXPECT_LE(std::abs(scaled[i] - exact), half_ulp) << exact;
  }
}

// The GPU code path, on a CPU: the bits of the loop above, in pieces that take less than 16 MiB.
TEST(ScaleInPieces, MatchesScalingByElement) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const at::Tensor pieces = at::arange((std::int64_t{1} << 21) + 5, at::kFloat).sin().to(dtype);
    std::vector<Parameter> one_by_one{parameter_of("a", {}, {}, dtype)};
    one_by_one[0].value = at::zeros_like(pieces).requires_grad_();
    one_by_one[0].value.mutable_grad() = pieces.clone();
    scale_gradients(state_of(one_by_one), 0.7);
    MemoryMeter& meter = new_memory_meter();
    meter.attach();

    scale_in_pieces(pieces, 0.7);

    EXPECT_LT(meter.total().peak, 16 << 20) << dtype;
    EXPECT_TRUE(at::equal(pieces, one_by_one[0].value.grad())) << dtype;
  }
}

TEST(ScaleGradients, ANanCoefficientMakesEveryGradientNan) {
  std::vector<Parameter> parameters{parameter_of("a", {0}, {1})};

  scale_gradients(state_of(parameters), std::numeric_limits<double>::quiet_NaN());

  EXPECT_TRUE(std::isnan(numbers_of(parameters[0].value.grad())[0]));
}

using testing::adamw;
using testing::sgd;
using testing::vector_of;

TEST(Optimizer, FirstAdamWStepMovesByTheRateAgainstTheGradientsSign) {
  std::vector<Parameter> parameters{parameter_of("a", {2, 2}, {1e-3, -50}, at::kDouble)};
  TrainState state(adamw(), parameters);

  optimizer_step(adamw(), state, 0.01);

  // Decay first, p (1 - lr wd); then, bias-corrected, lr g / (|g| + eps).
  const std::vector<double> after = numbers_of(parameters[0].value);
  EXPECT_NEAR(after[0], 2 * (1 - 0.001) - 0.01 * 1e-3 / (1e-3 + 1e-8), 1e-15);  // a few fp64 roundings of 2
  EXPECT_NEAR(after[1], 2 * (1 - 0.001) + 0.01 * 50 / (50 + 1e-8), 1e-15);
}

TEST(Optimizer, MatrixDecayDoesNotAffectVectors) {
  for (OptimizerSettings settings : {adamw(), sgd(0)}) {
    settings.decay = "matrices";
    std::vector<Parameter> parameters{parameter_of("norm", {2, 2}, {0, 0}, at::kDouble),
                                      parameter_of("matrix", {2, 2}, {0, 0}, at::kDouble)};
    parameters[1].value = parameters[1].value.detach().reshape({1, 2}).requires_grad_();
    parameters[1].value.mutable_grad() = vector_of({0, 0}, at::kDouble).reshape({1, 2});
    TrainState state(settings, parameters);

    optimizer_step(settings, state, 0.5);

    EXPECT_THAT(numbers_of(parameters[0].value), ElementsAre(2, 2)) << settings.name;
    const double decayed = 2 * (1 - 0.5 * settings.weight_decay);
    EXPECT_THAT(numbers_of(parameters[1].value), ElementsAre(decayed, decayed)) << settings.name;
    if (settings.name == "adamw") {
      for (const TrainedParameter& each : state.parameters) EXPECT_EQ(each.updates.item<float>(), 1) << each.name;
    }
  }
}

TEST(Optimizer, SgdMatchesTorch) {
  std::vector<Parameter> parameters{parameter_of("a", {4}, {1}, at::kDouble)};
  TrainState state(sgd(0.5), parameters);

  optimizer_step(sgd(0.5), state, 0.25);

  EXPECT_THAT(numbers_of(state.parameters[0].moment1), ElementsAre(1 + 0.5 * 4)) << "the first buffer is the gradient";
  EXPECT_THAT(numbers_of(parameters[0].value), ElementsAre(4 - 0.25 * 3));

  optimizer_step(sgd(0.5), state, 0.25);

  const double buffer = 0.5 * 3 + (1 + 0.5 * 3.25);
  EXPECT_THAT(numbers_of(state.parameters[0].moment1), ElementsAre(buffer));
  EXPECT_THAT(numbers_of(parameters[0].value), ElementsAre(3.25 - 0.25 * buffer));
}

// Like torch.optim: momentum is the given number, and the product is rounded once.
TEST(Optimizer, MomentumIsNotRoundedToTheDtypeOfTheGradient) {
  std::vector<Parameter> parameters{parameter_of("a", {4}, {97}, at::kBFloat16)};
  OptimizerSettings settings = sgd(0.9);
  settings.weight_decay = 0;
  TrainState state(settings, parameters);
  optimizer_step(settings, state, 0);
  parameters[0].value.mutable_grad().zero_();
  state.step = 1;

  optimizer_step(settings, state, 0);

  const double once = c10::BFloat16(97 * 0.9F);
  ASSERT_NE(once, static_cast<double>(c10::BFloat16(97 * static_cast<float>(c10::BFloat16(0.9F)))));
  EXPECT_THAT(numbers_of(state.parameters[0].moment1), ElementsAre(once));
}

TEST(Optimizer, TheFirstMomentumBufferIsTheGradient) {
  std::vector<Parameter> parameters{parameter_of("a", {4}, {-0.0})};
  OptimizerSettings settings = sgd(0.5);
  settings.weight_decay = 0;
  TrainState state(settings, parameters);

  optimizer_step(settings, state, 0.25);

  EXPECT_TRUE(std::signbit(numbers_of(state.parameters[0].moment1)[0])) << "0.5 * 0 + -0 would be +0";
}

TEST(Optimizer, DoesNotChangeTheGradient) {
  for (const OptimizerSettings& settings : {adamw(), sgd(0.5), sgd(0)}) {
    std::vector<Parameter> parameters{parameter_of("a", {4, -1}, {1, 0.5})};
    TrainState state(settings, parameters);

    optimizer_step(settings, state, 0.25);
    optimizer_step(settings, state, 0.25);

    EXPECT_THAT(numbers_of(parameters[0].value.grad()), ElementsAre(1, 0.5)) << settings.name;
    EXPECT_EQ(state.step, 2);
  }
}

TEST(Optimizer, FreesItsTemporaries) {
  for (const OptimizerSettings& settings : {adamw(), sgd(0.9)}) {
    std::vector<Parameter> parameters{parameter_of("a", {1, 2, 3}, {1, 1, 1})};
    TrainState state(settings, parameters);
    MemoryMeter& meter = new_memory_meter();
    meter.attach();
    const MemoryScope scope(
        MemoryOwner::activations);  // whatever the caller's scope, its temporaries have their own owner

    optimizer_step(settings, state, 0.1);

    EXPECT_EQ(meter.total().live, 0) << settings.name;
    EXPECT_EQ(meter.count(MemoryOwner::other).peak, meter.total().peak) << settings.name;
  }
}

TEST(Optimizer, AnAliasHasNoStateAndIsUpdatedOnceWithItsOwner) {
  std::vector<Parameter> parameters{parameter_of("model.embed_tokens.weight", {4}, {1}, at::kDouble)};
  parameters.push_back(testing::alias_of(parameters[0], {1}));
  TrainState state(sgd(0.9), parameters);

  optimizer_step(sgd(0), state, 0.25);

  EXPECT_FALSE(state.parameters[1].moment1.defined());
  EXPECT_THAT(numbers_of(parameters[1].value), ElementsAre(4 - 0.25 * 3));
}

TEST(Optimizer, ARankWithoutParametersCountsItsSteps) {
  TrainState state(adamw(), {});

  optimizer_step(adamw(), state, 0.1);

  EXPECT_EQ(state.step, 1);
  EXPECT_EQ(state.optimizer_bytes(), 0);
}

}  // namespace
}  // namespace plumbline
