// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <algorithm>

#include "harness/judge/expected/model.hpp"
#include "support/error.hpp"

namespace plumbline::judging {
namespace {

using ::testing::ElementsAre;

ExpectedModel model_of(std::int64_t layers, std::int64_t vocabulary = 8) {
  return expected_model(Json{{"vocab_size", vocabulary},
                             {"hidden_size", 4},
                             {"intermediate_size", 6},
                             {"num_hidden_layers", layers},
                             {"num_attention_heads", 2},
                             {"num_key_value_heads", 1},
                             {"rms_norm_eps", 1e-5}});
}

/// Layers of each stage; asserts that every unit occurs once and in order.
std::vector<std::int64_t> layers_of(const ExpectedModel& model, const RequestedPartition& requested,
                                    std::int64_t stages) {
  std::vector<std::int64_t> counts;
  std::vector<std::string> all;
  for (const auto& units : requested_partition(model, requested, stages, {8, 8})) {
    counts.push_back(std::ranges::count_if(units, is_layer));
    all.insert(all.end(), units.begin(), units.end());
  }
  EXPECT_EQ(all, model.units);
  return counts;
}

TEST(RequestedPartition, UniformGivesExtraLayersToTheEarliestStages) {
  EXPECT_THAT(layers_of(model_of(5), {}, 1), ElementsAre(5));
  EXPECT_THAT(layers_of(model_of(5), {}, 2), ElementsAre(3, 2));
  EXPECT_THAT(layers_of(model_of(5), {}, 3), ElementsAre(2, 2, 1));
  EXPECT_THAT(layers_of(model_of(5), {}, 5), ElementsAre(1, 1, 1, 1, 1));
}

TEST(RequestedPartition, WithMoreStagesThanLayersTheFirstHasOnlyTheEmbedding) {
  EXPECT_THAT(layers_of(model_of(2), {}, 3), ElementsAre(0, 1, 1));
  EXPECT_THAT(layers_of(model_of(2), {}, 5), ElementsAre(0, 1, 1, 0, 0));
}

TEST(RequestedPartition, CostPutsFewerLayersNextToALargeHead) {
  EXPECT_THAT(layers_of(model_of(6, 8), {"cost", {}}, 3), ElementsAre(2, 2, 2));
  EXPECT_THAT(layers_of(model_of(6, 1000), {"cost", {}}, 3), ElementsAre(3, 3, 0));
}

/// Hidden size, intermediate size, heads, kv heads and vocabulary, calculated by hand.
TEST(RequestedPartition, CostCountsLayersAndHeadOfEveryRow) {
  const auto model = [](std::int64_t layers, std::int64_t hidden, std::int64_t intermediate, std::int64_t heads) {
    return expected_model(Json{{"vocab_size", 64},
                               {"hidden_size", hidden},
                               {"intermediate_size", intermediate},
                               {"num_hidden_layers", layers},
                               {"num_attention_heads", heads},
                               {"num_key_value_heads", 1}});
  };
  const auto counts = [](const ExpectedModel& of, const std::vector<std::int64_t>& rows) {
    std::vector<std::int64_t> layers;
    for (const auto& units : requested_partition(of, {"cost", {}}, 3, rows))
      layers.push_back(std::ranges::count_if(units, is_layer));
    return layers;
  };
  // Weights 2 x 8 x (8 + 2) + 3 x 8 x 4 = 256. A layer of rows of 1 and 16: 512 + 16 + 8192 + 4096 = 12816; the head
  // (2 x 8 x 64 + 4 x 8 + 5 x 64) x 17 = 23392. With two layers and the head the last stage has 49024, the first's four
  // have 51264. With one layer and the head both have the same, and the first partition found stays.
  EXPECT_THAT(counts(model(9, 8, 4, 4), {1, 16}), ElementsAre(4, 3, 2));
  // Weights 2 x 4 x (4 + 4) + 3 x 4 x 6 = 136, a layer 272 + 8 = 280, the head 512 + 16 + 320 = 848: four layers have
  // 1120; one layer and the head would have 1128.
  EXPECT_THAT(counts(model(8, 4, 6, 1), {1}), ElementsAre(4, 4, 0));
}

TEST(RequestedPartition, OneStageHoldsTheWholeModel) {
  EXPECT_THAT(layers_of(model_of(5), {"cost", {}}, 1), ElementsAre(5));
  EXPECT_THROW(layers_of(model_of(5), {}, 0), InputError);
  EXPECT_THROW(layers_of(model_of(5), {"", {6, -1}}, 2), InputError);
}

TEST(RequestedPartition, ABalanceIsUsedUnchangedOrRefused) {
  EXPECT_THAT(layers_of(model_of(5), {"", {2, 0, 3}}, 3), ElementsAre(2, 0, 3));
  EXPECT_THROW(layers_of(model_of(5), {"", {2, 3}}, 3), InputError);
  EXPECT_THROW(layers_of(model_of(5), {"", {2, 0, 2}}, 3), InputError);
  EXPECT_THROW(layers_of(model_of(5), {"by hand", {}}, 3), InputError);
}

}  // namespace
}  // namespace plumbline::judging
