// SPDX-License-Identifier: BSD-3-Clause
#include "training/train_state.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>

#include <limits>
#include <stdexcept>
#include <utility>

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
using testing::state_of;

TEST(TrainState, MomentsMatchTheOptimizer) {
  std::vector<Parameter> parameters{parameter_of("a", {1, 2, 3}, {1, 1, 1}), parameter_of("b", {1}, {1})};
  MemoryMeter& meter = new_memory_meter();
  meter.attach();

  const TrainState with_moments(adamw(), parameters);
  EXPECT_EQ(with_moments.optimizer_bytes(), 2 * 4 * 4 + 2 * 4) << "two moments of 4 elements, a counter for each of 2";
  EXPECT_EQ(meter.count(MemoryOwner::optimizer).live, with_moments.optimizer_bytes());
  EXPECT_EQ(meter.total().live, with_moments.optimizer_bytes());

  const TrainState with_momentum(sgd(0.9), parameters);
  EXPECT_EQ(with_momentum.optimizer_bytes(), 4 * 4);
  const TrainState bare(sgd(0), parameters);
  EXPECT_EQ(bare.optimizer_bytes(), 0);
  EXPECT_FALSE(bare.parameters[0].moment1.defined());
}

TEST(TrainState, RefusesAnUnknownOptimizer) {
  OptimizerSettings settings;
  settings.name = "adam";

  EXPECT_THROW(TrainState(settings, {}), std::logic_error);
}

TEST(TrainState, NamesAParameterWithoutAnAccumulator) {
  Parameter bare = parameter_of("a", {1}, {1});
  bare.value.mutable_grad() = at::Tensor();
  const TrainState state = state_of({bare});

  EXPECT_THROW(zero_gradients(state), std::logic_error);
}

TEST(ZeroGradients, KeepsTheTensorObjects) {
  std::vector<Parameter> parameters{parameter_of("a", {1, 2}, {0.25, std::numeric_limits<double>::quiet_NaN()})};
  const void* data = parameters[0].value.grad().const_data_ptr();

  zero_gradients(state_of(parameters));

  EXPECT_THAT(numbers_of(parameters[0].value.grad()), ElementsAre(0, 0));
  EXPECT_EQ(parameters[0].value.grad().const_data_ptr(), data);
}

TEST(GradientRuns, JoinWhatFollowsInMemory) {
  const at::Tensor buffer = at::arange(10, at::kFloat), other = at::zeros({2});
  TrainState state;
  const auto add = [&](const at::Tensor& gradient) {
    TrainedParameter parameter;
    parameter.value = at::zeros_like(gradient);
    parameter.value.mutable_grad() = gradient;
    state.parameters.push_back(std::move(parameter));
  };
  add(buffer.narrow(0, 0, 4).view({2, 2}));
  add(buffer.narrow(0, 4, 2));
  add(buffer.narrow(0, 7, 3));  // after a gap
  add(other);
  add(buffer.narrow(0, 6, 1));  // not after `other`

  const auto runs = gradient_runs(state);

  ASSERT_EQ(runs.size(), 4U);
  EXPECT_TRUE(runs[0].equal(buffer.narrow(0, 0, 6)));
  EXPECT_EQ(runs[0].data_ptr(), buffer.data_ptr());
  EXPECT_TRUE(runs[1].equal(buffer.narrow(0, 7, 3)));
  EXPECT_TRUE(runs[2].is_same_size(other));
  EXPECT_EQ(runs[3].numel(), 1);
  add(at::zeros({2, 2}).t());
  EXPECT_THROW(gradient_runs(state), std::logic_error);
}

TEST(TiedWeight, BothUsesGetTheSum) {
  std::vector<Parameter> parameters{parameter_of("model.embed_tokens.weight", {1, 2}, {0.25, -1})};
  parameters.push_back(testing::alias_of(parameters[0], {0.5, 4}));

  const TrainState state = state_of(parameters);
  const TiedWeight tied(true, state);

  tied.add_uses();

  EXPECT_TRUE(tied.within_a_slice());

  EXPECT_THAT(numbers_of(parameters[0].value.grad()), ElementsAre(0.75, 3));
  EXPECT_THAT(numbers_of(parameters[1].value.grad()), ElementsAre(0.75, 3));
  EXPECT_FALSE(parameters[0].value.grad().is_alias_of(parameters[1].value.grad()))
      << "the next step needs two accumulators again";
}

TEST(TiedWeight, TwoStagesOfOneRankGetTheSum) {
  const TrainState state = state_of(
      {parameter_of("model.embed_tokens.weight", {1, 2}, {0.25, -1}), parameter_of("lm_head.weight", {1, 2}, {1, 1})});
  const TiedWeight tied(true, state);

  tied.add_uses();

  EXPECT_FALSE(tied.within_a_slice()) << "an action of the list adds them";
  EXPECT_THAT(numbers_of(state.parameters[0].gradient()), ElementsAre(1.25, 0));
  EXPECT_THAT(numbers_of(state.parameters[1].gradient()), ElementsAre(1.25, 0));
}

TEST(TiedWeight, OneUseNeedsNoSum) {
  const TrainState state = state_of({parameter_of("lm_head.weight", {1, 2}, {1, 1})});
  const TiedWeight tied(true, state);

  tied.add_uses();

  EXPECT_EQ(tied.embedding(), nullptr);
  EXPECT_THAT(tied.held(), ElementsAre(tied.head()));
  EXPECT_THAT(numbers_of(state.parameters[0].gradient()), ElementsAre(1, 1));
}

TEST(TiedWeight, IsAbsentInAnUntiedModel) {
  const TrainState state = state_of(
      {parameter_of("model.embed_tokens.weight", {1, 2}, {0.25, -1}), parameter_of("lm_head.weight", {1, 2}, {1, 1})});
  const TiedWeight tied(false, state);

  tied.add_uses();

  EXPECT_TRUE(tied.held().empty());
  EXPECT_THAT(numbers_of(state.parameters[0].gradient()), ElementsAre(0.25, -1));
}

}  // namespace
}  // namespace plumbline
