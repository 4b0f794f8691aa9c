// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "schedule/verifier.hpp"
#include "support/error.hpp"
#include "tests/schedule/schedules.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

TEST(MakeSchedule, ClassicOnesWrittenOut) {
  const auto expect = [](const Schedule& schedule, const std::vector<std::string>& lists) {
    ASSERT_EQ(schedule.ranks.size(), lists.size());
    for (std::size_t rank = 0; rank < lists.size(); ++rank) EXPECT_EQ(texts(schedule.ranks[rank]), lists[rank]);
  };
  expect(make_schedule("1f1b", 3, 4),
         {"0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3", "1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3", "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3"});
  expect(make_schedule("1f1b", 4, 2), {"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1", "2F0 2F1 2B0 2B1", "3F0 3B0 3F1 3B1"});
  expect(make_schedule("afab", 2, 2), {"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"});
}

TEST(MakeSchedule, AcceptsNamesOfTorchAndOfPapers) {
  const std::vector<std::pair<std::string, std::string>> names = {{"gpipe", "afab"},
                                                                  {"ScheduleGPipe", "afab"},
                                                                  {"AFAB", "afab"},
                                                                  {"1F1B", "1f1b"},
                                                                  {"Schedule1F1B", "1f1b"},
                                                                  {"PipeDream-Flush", "1f1b"},
                                                                  {"zb_h1", "zb-h1"},
                                                                  {"ZB-H2", "zb-h2"},
                                                                  {"ZBVZeroBubble", "zb-v"},
                                                                  {"ScheduleZBVZeroBubble", "zb-v"},
                                                                  {"LoopedBFS", "looped-bfs"},
                                                                  {"Interleaved1F1B", "interleaved-1f1b"},
                                                                  {"DualPipeV", "dualpipe-v"},
                                                                  {"ScheduleInterleaved1F1B", "interleaved-1f1b"}};
  for (const auto& [name, known] : names) {
    EXPECT_EQ(known_schedule(name), known) << name;
    EXPECT_EQ(make_schedule(name, 2, 4, default_chunks(name)).name, known) << name;
  }
  for (const char* other : {"InterleavedZeroBubble", "DualPipe", "schedule", ""}) {
    EXPECT_FALSE(known_schedule(other)) << other;
  }
  EXPECT_THAT(message_of<InputError>([] { make_schedule("ScheduleInterleavedZeroBubble", 2, 4, 2); }),
              HasSubstr("does not exist here"));
}

TEST(MakeSchedule, MakesEveryNameInEverySize) {
  for_each_schedule([](const Schedule& schedule) {
    EXPECT_EQ(schedule.ranks.size(), static_cast<std::size_t>(schedule.placement.ranks));
    EXPECT_NO_THROW(verify_complete(schedule));
    for (const ActionList& list : schedule.ranks)
      EXPECT_EQ(microbatches_of(list, ActionType::backward), ascending(schedule));
  });
}

TEST(MakeSchedule, NamesSizesThatFit) {
  EXPECT_THAT(message_of<InputError>([] { make_schedule("chimera", 2, 4); }),
              HasSubstr("choose one of afab, 1f1b, interleaved-1f1b"));
  EXPECT_THAT(message_of<InputError>([] { make_schedule("1f1b", 0, 4); }), HasSubstr("at least 1"));
  EXPECT_THAT(message_of<InputError>([] { make_schedule("1f1b", 2, 0); }), HasSubstr("at least 1 microbatch"));
  EXPECT_THAT(message_of<InputError>([] { make_schedule("afab", 2, 4, 2); }), HasSubstr("set chunks = 1"));
}

TEST(MakeSchedule, NamesSizesThatFitRestrictedSchedules) {
  EXPECT_THAT(message_of<InputError>([] { make_schedule("zb-h3", 2, 4); }), HasSubstr("did you mean zb-h"));
  EXPECT_THAT(message_of<InputError>([] { make_schedule("zb-v", 2, 4, 1); }), HasSubstr("set chunks = 2"));
  EXPECT_THAT(message_of<InputError>([] { make_schedule("looped-bfs", 2, 4, 0); }), HasSubstr("at least 1 chunk"));
  EXPECT_THAT(message_of<InputError>([] { make_schedule("interleaved-1f1b", 4, 9, 2); }), HasSubstr("8 or 10"));
  EXPECT_THAT(message_of<InputError>([] { make_schedule("interleaved-1f1b", 4, 13, 2); }), HasSubstr("12 or 15"));
  EXPECT_THAT(message_of<InputError>([] { make_schedule("interleaved-1f1b", 4, 14, 2); }), HasSubstr("12 or 15"));
  EXPECT_THAT(
      message_of<InputError>([] { make_schedule("dualpipe-v", 4, 7, 2); }),
      ::testing::AllOf(HasSubstr("needs at least 2 microbatches per rank, 8"), HasSubstr("fewer ranks, at most 3")));
  EXPECT_THAT(message_of<InputError>([] { make_schedule("zb-h2", 2, 2000000000); }), HasSubstr("take fewer"));
  EXPECT_NO_THROW(make_schedule("interleaved-1f1b", 4, 10, 2));
}

TEST(MakeSchedule, EveryGeneratorIsCompleteAndAscendingEverywhere) {
  const int count = for_each_generated([](const Schedule& schedule) {
    EXPECT_NO_THROW(verify_complete(schedule));
    for (std::int32_t rank = 0; rank < schedule.placement.ranks; ++rank) {
      for (const std::int32_t stage : schedule.placement.stages_on(rank)) {
        std::vector<std::int32_t> forwards, inputs, weights;
        for (const Action& action : schedule.ranks[static_cast<std::size_t>(rank)]) {
          if (action.stage != stage) continue;
          if (action.type == ActionType::forward) forwards.push_back(action.microbatch);
          if (action.type == ActionType::backward || action.type == ActionType::backward_input) {
            inputs.push_back(action.microbatch);
          }
          if (action.type == ActionType::backward || action.type == ActionType::backward_weight) {
            weights.push_back(action.microbatch);
          }
        }
        EXPECT_EQ(forwards, ascending(schedule));
        EXPECT_EQ(inputs, ascending(schedule));
        EXPECT_EQ(weights, ascending(schedule));
      }
    }
  });
  EXPECT_GT(count, 800);
}

std::int64_t peak(const Schedule& schedule, std::int32_t rank) {
  return peak_slots(schedule.ranks[static_cast<std::size_t>(rank)]);
}

TEST(MakeSchedule, PeakSlotsOfEveryGenerator) {
  using Peak = std::function<std::int32_t(std::int32_t p, std::int32_t m, std::int32_t v, std::int32_t r)>;
  const std::map<std::string, Peak> peaks = {
      {"afab", [](auto, auto m, auto, auto) { return m; }},
      {"1f1b", [](auto p, auto m, auto, auto r) { return std::min(m, p - r); }},
      {"interleaved-1f1b",
       [](auto p, auto m, auto v, auto r) {
         const std::int32_t group = m / std::max(1, m / p);
         return std::min(m * v, 2 * (p - r - 1) + (v - 1) * group + 1);
       }},
      {"looped-bfs", [](auto, auto m, auto v, auto) { return m * v; }},
      {"zb-h1", [](auto p, auto m, auto, auto) { return std::min(m, p); }},
      {"zb-h2", [](auto p, auto m, auto, auto) { return std::min(m, 2 * p - 1); }},
      {"zb-v", [](auto p, auto m, auto, auto) { return m >= 2 * p - 1 ? 2 * p : 0; }},
      {"dualpipe-v", [](auto p, auto, auto, auto) { return 2 * p + 1; }}};
  for_each_generated([&](const Schedule& schedule) {
    const std::int32_t p = schedule.placement.ranks, m = schedule.microbatches, v = schedule.placement.chunks_per_rank;
    for (std::int32_t r = 0; r < p; ++r) {
      const std::int32_t expected = peaks.at(schedule.name)(p, m, v, r);
      if (expected > 0) {
        EXPECT_EQ(peak(schedule, r), expected) << "rank " << r;
      }
    }
  });
}

TEST(MakeSchedule, InterleavedWarmUpMatchesTheTable) {
  const Schedule schedule = make_schedule("interleaved-1f1b", 4, 8, 2);

  for (std::int32_t rank = 0; rank < 4; ++rank) {
    const ActionList& list = schedule.ranks[static_cast<std::size_t>(rank)];
    const auto first = std::find_if(list.begin(), list.end(),
                                    [](const Action& action) { return action.type == ActionType::backward; });
    EXPECT_EQ(first - list.begin(), 2 * (4 - rank - 1) + 4 + 1) << "rank " << rank;
  }
}

TEST(MakeSchedule, SmallOnesWrittenOut) {
  EXPECT_EQ(texts(make_schedule("interleaved-1f1b", 2, 2, 2).ranks.at(0)), "0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1");
  EXPECT_EQ(texts(make_schedule("interleaved-1f1b", 2, 2, 2).ranks.at(1)), "1F0 1F1 3F0 3B0 3F1 3B1 1B0 1B1");
  EXPECT_EQ(texts(make_schedule("looped-bfs", 2, 2, 2).ranks.at(1)), "1F0 1F1 3F0 3F1 3B0 3B1 1B0 1B1");
  EXPECT_EQ(texts(make_schedule("zb-h1", 2, 3).ranks.at(0)), "0F0 0F1 0I0 0W0 0F2 0I1 0W1 0I2 0W2");
  EXPECT_EQ(texts(make_schedule("zb-h1", 2, 3).ranks.at(1)), "1F0 1I0 1F1 1I1 1W0 1F2 1I2 1W1 1W2");
  EXPECT_EQ(texts(make_schedule("zb-h2", 2, 3).ranks.at(0)), "0F0 0F1 0F2 0I0 0W0 0I1 0W1 0I2 0W2");
  EXPECT_EQ(texts(make_schedule("zb-v", 2, 3, 2).ranks.at(1)),
            "1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1I1 2I2 1I2 1W1 2W2 1W2");
  EXPECT_EQ(texts(make_schedule("dualpipe-v", 1, 2, 2).ranks.at(0)), "0F0 1F0 0F1 1B0 1F1 0B0 1B1 0I1 0W1");
  EXPECT_EQ(texts(make_schedule("dualpipe-v", 2, 4, 2).ranks.at(0)),
            "0F0 0F1 0F2 3F0 3I0 3W0 3F1 0F3 3B1 3F2 0B0 3B2 3F3 0B1 3B3 0I2 0W2 0I3 0W3");
}

TEST(Placement, VGoesDownAndBackUp) {
  const Placement placement{3, 2, PlacementKind::v};

  EXPECT_EQ(placement.stages_on(0), (std::vector<std::int32_t>{0, 5}));
  EXPECT_EQ(placement.stages_on(2), (std::vector<std::int32_t>{2, 3}));
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    for (const std::int32_t stage : placement.stages_on(rank)) EXPECT_EQ(placement.rank_of(stage), rank);
  }
}

TEST(Placement, LoopGoesRoundTheRanks) {
  const Placement placement{3, 2};

  EXPECT_EQ(placement.stages_on(1), (std::vector<std::int32_t>{1, 4}));
  for (const std::int32_t stage : placement.stages_on(1)) EXPECT_EQ(placement.rank_of(stage), 1);
}

}  // namespace
}  // namespace plumbline
