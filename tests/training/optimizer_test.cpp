// SPDX-License-Identifier: BSD-3-Clause
// training_golden_test.cpp compares the values with torch.optim; these tests are about ownership, counts and unchanged
// tensors.
#include "training/optimizer.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "model/parameter.hpp"
#include "tests/training/parameters.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {
namespace {

using testing::adamw;
using ::testing::ElementsAre;
using testing::numbers_of;
using testing::parameter_of;
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

// Multiplies as torch.optim does: rounded once, from the given number.
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
