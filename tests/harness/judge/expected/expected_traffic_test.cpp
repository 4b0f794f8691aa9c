// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/expected/expected_traffic.hpp"

#include <gmock/gmock.h>

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
  EXPECT_EQ(buffer_bound(lowered.ranks[0], stages_on_ranks({0}), {1, 2, 3}, 1000), 0);
}

TEST(ExpectedTraffic, UnknownMicrobatchIsNamed) {
  const auto call = [] { expected_traffic(actions({"0SEND_F2"}), stages_on_ranks({0, 1}), {1, 2}); };
  EXPECT_THAT(error_of<InputError>(call), HasSubstr("0SEND_F2"));
}

TEST(ExpectedTraffic, AMessageToNobodyIsNamed) {
  const auto call = [] { expected_traffic(actions({"1SEND_F0"}), stages_on_ranks({0, 1}), {1}); };
  EXPECT_THAT(error_of<InputError>(call), HasSubstr("1SEND_F0 has no stage at its other end"));
}

TEST(BufferBound, ReceivesUntilConsumedSendsUntilTheEnd) {
  // receives 10 and 20 (30), F0 frees 10 and leaves 10 to send (30), F1 frees 20 and leaves 20 (30), receive 10 (40),
  // B0 frees it and leaves as much
  const auto list = actions({"1RECV_F0", "1RECV_F1", "1F0", "1SEND_F0", "1F1", "1SEND_F1", "1RECV_B0", "1B0",
                             "1SEND_B0", "1REDUCE", "1STEP"});

  EXPECT_EQ(buffer_bound(list, stages_on_ranks({0, 1, 2}), {10, 20}, 0), 40);
  EXPECT_EQ(buffer_bound(list, stages_on_ranks({0, 1, 2}), {10, 20}, 100), 140);
}

TEST(BufferBound, HandOversWithinTheRankFromMakerToTaker) {
  // V placement: the last two stages are rank 1's; F1 leaves 10 until F2 starts, and I2 leaves 10 until I1 starts; W
  // takes none
  const auto list = actions({"1RECV_F0", "1F0", "1RECV_F1", "2F0", "2I0", "2W0", "1I0", "1W0"});

  // 20 of RECV_F1, 10 for stage 3 until the end, and 10 left by I2, later by I1
  EXPECT_EQ(buffer_bound(list, stages_on_ranks({0, 1, 1, 0}), {10, 20}, 0), 40);
}

TEST(BufferBound, HandsOverToTheNextStageOfTheRankNotToTheOneBefore) {
  const auto list = actions({"1RECV_F0", "1F0", "1RECV_F1", "2F0"});

  // 10 to F of stage 1, which leaves 10 for stage 2 while 20 come in; stage 2 is the last.
  EXPECT_EQ(buffer_bound(list, stages_on_ranks({0, 1, 1}), {10, 20}, 0), 30);
}

TEST(BufferBound, AGradientIsConsumedByItsInputHalf) {
  const auto list = actions({"1RECV_B0", "1I0", "1RECV_B1", "1I1"});

  // What each I leaves to send takes the place of what it took.
  EXPECT_EQ(buffer_bound(list, stages_on_ranks({0, 1, 2}), {10, 20}, 0), 30);
}

TEST(BufferBound, WhatIsSentLateIsKeptFromItsMakerOn) {
  const auto list = actions({"1RECV_F0", "1F0", "1RECV_B0", "1B0", "1SEND_F0", "1SEND_B0"});

  EXPECT_EQ(buffer_bound(list, stages_on_ranks({0, 1, 2}), {10}, 0), 20) << "F0's output while B0's gradient comes in";
}

TEST(StageMap, CutBehindEmptyStagesIsTheNextUnit) {
  Manifest manifest;
  manifest.stages = {{0, 0, {}}, {1, 1, {"embed_tokens"}}, {2, 2, {}}, {3, 0, {"norm", "lm_head"}}, {4, 1, {}}};

  const auto crossings = stage_map(manifest).crossings;

  ASSERT_EQ(crossings.size(), 2U);  // nothing is handed on before the first unit nor behind the last
  EXPECT_EQ(crossings[0].cut, "norm");
  EXPECT_EQ(crossings[0].from_stage, 1);
  EXPECT_EQ(crossings[1].cut, "norm");
  EXPECT_EQ(crossings[1].from_stage, 2);
  EXPECT_EQ(crossings[1].to_rank, 0);
  EXPECT_FALSE(crossings[0].local());
}

}  // namespace
}  // namespace plumbline::testing
