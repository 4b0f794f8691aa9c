// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/accumulation_order.hpp"

#include "tests/schedule/schedules.hpp"

namespace plumbline {
namespace {

Schedule two_stages(const std::string& first, const std::string& second) {
  return {"mine", {2, 1, PlacementKind::loop}, 2, {actions(first), actions(second)}};
}

TEST(AccumulationOrder, FollowsInputAndWeightGradients) {
  const auto orders = accumulation_orders(two_stages("0F0 0F1 0B1 0B0", "1F0 1F1 1I1 1I0 1W0 1W1"));

  ASSERT_EQ(orders.size(), 2U);
  EXPECT_EQ(orders[0], (StageAccumulation{{1, 0}, {1, 0}}));
  EXPECT_EQ(orders[1], (StageAccumulation{{1, 0}, {0, 1}}));
}

TEST(AccumulationOrder, NormsFollowTheInputGradients) {
  const Schedule schedule = two_stages("0F0 0F1 0I1 0I0 0W0 0W1", "1F0 1F1 1I1 1I0 1W0 1W1");

  EXPECT_EQ(accumulation_csv(schedule, {{"embed_tokens", "layers.0"}, {"norm", "lm_head"}}),
            "unit,microbatch\nembed_tokens,1\nembed_tokens,0\nlayers.0,0\nlayers.0,1\n"
            "model.layers.0.input_layernorm.weight,1\nmodel.layers.0.input_layernorm.weight,0\n"
            "model.layers.0.post_attention_layernorm.weight,1\nmodel.layers.0.post_attention_layernorm.weight,0\n"
            "norm,1\nnorm,0\nlm_head,0\nlm_head,1\n");
}

TEST(AccumulationOrder, GivesEachUnitTheOrderOfItsStage) {
  const Schedule schedule = two_stages("0F0 0F1 0B1 0B0", "1F0 1F1 1B0 1B1");

  EXPECT_EQ(accumulation_csv(schedule, {{"embed_tokens", "layers.0"}, {"norm"}}),
            "unit,microbatch\nembed_tokens,1\nembed_tokens,0\nlayers.0,1\nlayers.0,0\nnorm,0\nnorm,1\n");
}

TEST(AccumulationOrder, OfReplicasEachIsAGroupOfTheStepsMicrobatches) {
  const Schedule schedule = two_stages("0F0 0F1 0B1 0B0", "1F0 1F1 1B0 1B1");

  EXPECT_EQ(accumulation_csv(schedule, {{"embed_tokens"}, {"norm"}}, 2),
            "unit,microbatch,group\nembed_tokens,1,0\nembed_tokens,0,0\nembed_tokens,3,1\nembed_tokens,2,1\n"
            "norm,0,0\nnorm,1,0\nnorm,2,1\nnorm,3,1\n");
}

TEST(AccumulationOrder, IsEmptyIfAllOrdersAreAscending) {
  EXPECT_EQ(accumulation_csv(make_schedule("zb-v", 2, 4, 2), {{"a"}, {"b"}, {"c"}, {"d"}}), "");
  EXPECT_EQ(accumulation_csv(two_stages("0F0 0F1 0B1 0B0", "1F0 1F1 1B0 1B1"), {{}, {"all"}}), "")
      << "a stage without units sums nothing";
}

}  // namespace
}  // namespace plumbline
