// SPDX-License-Identifier: BSD-3-Clause
// Units and stage boundaries of placements in which stage and rank numbers differ.
#include <gmock/gmock.h>

#include "harness/judge/expected/model.hpp"

namespace plumbline::judging {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

StageEntry stage(std::int64_t number, std::int64_t rank, std::vector<std::string> units) {
  StageEntry entry;
  entry.stage = number;
  entry.rank = rank;
  entry.units = std::move(units);
  return entry;
}

std::vector<std::string> crossings_of(const StageMap& map) {
  std::vector<std::string> words;
  for (const Crossing& each : map.crossings)
    words.push_back(std::to_string(each.from_stage) + " on " + std::to_string(each.from_rank) + " to " +
                    std::to_string(each.to_stage) + " on " + std::to_string(each.to_rank) + " at " + each.cut +
                    (each.local() ? ", local" : ""));
  return words;
}

/// Four stages on two ranks, down and up again.
Manifest v_placed() {
  Manifest manifest;
  manifest.stages = {stage(0, 0, {"embed", "layers.0"}), stage(1, 1, {"layers.1"}), stage(2, 1, {"layers.10"}),
                     stage(3, 0, {"norm", "lm_head"})};
  return manifest;
}

TEST(StageMapOf, FindsUnitsAndRanksByStage) {
  const StageMap map = stage_map(v_placed());

  EXPECT_EQ(map.stage_of("lm_head"), 3);
  EXPECT_EQ(map.stage_of("layers.10"), 2);
  EXPECT_EQ(map.stage_of("layers.1"), 1);
  EXPECT_EQ(map.stage_of("layers.2"), std::nullopt);
  ASSERT_NE(map.find(3), nullptr);
  EXPECT_EQ(map.find(3)->rank, 0);
  EXPECT_EQ(map.find(4), nullptr);
  EXPECT_THAT(map.stages_on(0), ElementsAre(0, 3));
  EXPECT_THAT(map.stages_on(1), ElementsAre(1, 2));
  EXPECT_THAT(map.stages_on(2), IsEmpty());
}

TEST(StageMapOf, EachBoundaryIsNamedByTheNextStagesFirstUnit) {
  EXPECT_THAT(
      crossings_of(stage_map(v_placed())),
      ElementsAre("0 on 0 to 1 on 1 at layers.1", "1 on 1 to 2 on 1 at layers.10, local", "2 on 1 to 3 on 0 at norm"));
}

TEST(StageMapOf, EmptyStagesHaveBoundariesOnlyBetweenOthers) {
  Manifest manifest;
  manifest.stages = {stage(0, 0, {}), stage(1, 1, {"embed"}), stage(2, 2, {}), stage(3, 3, {"norm"}), stage(4, 4, {})};
  EXPECT_THAT(crossings_of(stage_map(manifest)), ElementsAre("1 on 1 to 2 on 2 at norm", "2 on 2 to 3 on 3 at norm"));
}

TEST(StageMapOf, RecognizesLayerNames) {
  EXPECT_TRUE(is_layer("layers.10"));
  EXPECT_FALSE(is_layer("layer"));
  EXPECT_FALSE(is_layer("h.layers.0"));
}

}  // namespace
}  // namespace plumbline::judging
