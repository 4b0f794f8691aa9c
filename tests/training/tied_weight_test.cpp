// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "model/parameter.hpp"
#include "tests/training/parameters.hpp"
#include "training/train_state.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using testing::numbers_of;
using testing::parameter_of;
using testing::state_of;

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

  EXPECT_FALSE(tied.within_a_slice()) << "an action of the list stands for their sum";
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
