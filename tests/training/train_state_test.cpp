// SPDX-License-Identifier: BSD-3-Clause
#include "training/train_state.hpp"

#include <gmock/gmock.h>

#include <limits>

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

}  // namespace
}  // namespace plumbline
