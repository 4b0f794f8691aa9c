// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "harness/judge/expected/model.hpp"
#include "schedule/lowering.hpp"
#include "schedule/schedule.hpp"
#include "support/error.hpp"
#include "tests/harness/judge/expected/actions.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using namespace judging;
using ::testing::HasSubstr;

StageMap stages_on_ranks(const std::vector<std::int64_t>& ranks) {
  Manifest manifest;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    manifest.stages.push_back({static_cast<std::int64_t>(i), ranks[i], {"layers." + std::to_string(i)}});
  }
  return stage_map(manifest);
}

TEST(ExpectedTraffic, MiddleRankOfThree) {
  const auto lowered = lower(make_schedule("1f1b", 3, 2), true);

  const auto traffic = expected_traffic(lowered.ranks[1], stages_on_ranks({0, 1, 2}), {100, 7});

  const std::map<TrafficEdge, Moved> expected = {{{0, "forward", "receive"}, {2, 107}},
                                                 {{0, "backward", "send"}, {2, 107}},
                                                 {{2, "forward", "send"}, {2, 107}},
                                                 {{2, "backward", "receive"}, {2, 107}}};
  EXPECT_EQ(traffic, expected);
}

TEST(ExpectedTraffic, NothingAtWorldSizeOne) {
  const auto lowered = lower(make_schedule("afab", 1, 3), true);

  EXPECT_TRUE(expected_traffic(lowered.ranks[0], stages_on_ranks({0}), {1, 2, 3}).empty());
}

TEST(ExpectedTraffic, NamesAnUnknownMicrobatch) {
  const auto call = [] { expected_traffic(actions({"0SEND_F2"}), stages_on_ranks({0, 1}), {1, 2}); };
  EXPECT_THAT(error_of<InputError>(call), HasSubstr("0SEND_F2"));
}

TEST(ExpectedTraffic, NamesAMessageWithoutAReceiver) {
  const auto call = [] { expected_traffic(actions({"1SEND_F0"}), stages_on_ranks({0, 1}), {1}); };
  EXPECT_THAT(error_of<InputError>(call), HasSubstr("the stage at the other end of 1SEND_F0 does not exist"));
}

TEST(StageMap, CutAfterEmptyStagesIsTheNextUnit) {
  Manifest manifest;
  manifest.stages = {{0, 0, {}}, {1, 1, {"embed_tokens"}}, {2, 2, {}}, {3, 0, {"norm", "lm_head"}}, {4, 1, {}}};

  const auto crossings = stage_map(manifest).crossings;

  ASSERT_EQ(crossings.size(), 2U);  // no boundary before the first unit or after the last
  EXPECT_EQ(crossings[0].cut, "norm");
  EXPECT_EQ(crossings[0].from_stage, 1);
  EXPECT_EQ(crossings[1].cut, "norm");
  EXPECT_EQ(crossings[1].from_stage, 2);
  EXPECT_EQ(crossings[1].to_rank, 0);
  EXPECT_FALSE(crossings[0].local());
}

}  // namespace
}  // namespace plumbline::testing
