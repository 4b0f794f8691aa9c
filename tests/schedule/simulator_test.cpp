// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/simulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "schedule/bubble.hpp"
#include "schedule/closed_forms.hpp"
#include "schedule/lowering.hpp"
#include "support/error.hpp"
#include "tests/schedule/schedules.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

struct Published {
  std::int32_t microbatches;
  StageTimes times;
  double communication;
  double rates[3];
};

// Zero Bubble (arXiv:2401.10241), Table 5, 8 ranks.
TEST(Simulate, PublishedBubbleRatesToFourDecimals) {
  const std::vector<Published> rows = {{24, {18.522, 18.086, 9.337}, .601, {.2431, .1585, .1083}},
                                       {64, {29.935, 29.621, 19.388}, .535, {.1091, .0554, .0294}}};
  const std::vector<std::string> names = {"1f1b", "zb-h1", "zb-h2"};
  for (const Published& row : rows) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Schedule schedule = make_schedule(names[i], 8, row.microbatches);

      const Simulation plain = simulate(schedule, {{row.times}, {row.communication}});
      const Simulation lowered = simulate(lower(schedule, true), {{row.times}, {row.communication}});

      EXPECT_EQ(std::round(plain.bubble_rate * 1e4), std::round(row.rates[i] * 1e4)) << names[i];
      EXPECT_EQ(plain.bubble_rate, lowered.bubble_rate) << names[i];
    }
  }
}

TEST(Simulate, ClosedFormsWhereTheyHold) {
  const std::vector<StageTimes> all_times = {{1, 1, 1}, {2, 3, 1}, {3, 3, 2}, {4, 8, 4}};
  int compared = 0;
  for_each_generated([&](const Schedule& schedule) {
    for (const StageTimes& times : all_times) {
      const auto expected = closed_form_bubble(schedule.name, schedule.placement.ranks, schedule.microbatches, times);
      if (!expected) continue;
      // Integers: sums are exact, so there is no tolerance.
      EXPECT_EQ(simulate(schedule, {{times}, {}}).bubble, *expected) << times.forward << times.input << times.weight;
      ++compared;
    }
  });
  EXPECT_GT(compared, 1500);
}

TEST(Simulate, NoClosedFormOutsideItsRange) {
  EXPECT_FALSE(closed_form_bubble("1f1b", 4, 3, {}));
  EXPECT_FALSE(closed_form_bubble("zb-h1", 4, 8, {1, 2, 1.5}));
  EXPECT_FALSE(closed_form_bubble("zb-h2", 4, 6, {}));
  EXPECT_FALSE(closed_form_bubble("zb-v", 4, 8, {1, 2, 1}));
  EXPECT_FALSE(closed_form_bubble("mine", 4, 8, {}));
  EXPECT_EQ(closed_form_bubble("afab", 4, 2, {1, 1, 1}), 9) << "it has one for any number of microbatches";
}

TEST(Simulate, MessageDurationsArePerBoundary) {
  const Schedule schedule{"hand", {3, 1}, 1, {actions("0F0 0B0"), actions("1F0 1B0"), actions("2F0 2B0")}};

  const Simulation run = simulate(schedule, {{{1, 1, 1}}, {.5, 2}});

  EXPECT_EQ(run.actions[1][0].start, 1.5);
  EXPECT_EQ(run.actions[2][0].start, 4.5);
  EXPECT_EQ(run.actions[1][1].start, 9.5);
  EXPECT_EQ(run.actions[0][1].start, 12);
}

TEST(Simulate, StartsAndEndsByHand) {
  // Rank 0: 0F0 [0,2], then idle until the gradient; rank 1: arrival 2.5, 1F0 [2.5,5.5], 1B0 5 + 7 = 12 long.
  const Schedule schedule{"hand", {2, 1}, 1, {actions("0F0 0B0"), actions("1F0 1I0 1W0")}};

  const Simulation run = simulate(schedule, {{{2, 1, 1}, {3, 5, 7}}, {.5}});

  EXPECT_EQ(run.actions[1][0].start, 2.5);
  EXPECT_EQ(run.actions[1][0].end, 5.5);
  EXPECT_EQ(run.actions[1][2].end, 17.5);
  EXPECT_EQ(run.actions[0][1].start, 11);  // as early as I allows; W runs meanwhile
  EXPECT_EQ(run.actions[0][1].end, 13);
  EXPECT_EQ(run.makespan, 17.5);
  EXPECT_EQ(run.bubble_rate, 9.0 / 13);
  EXPECT_EQ(run.peak_slots, (std::vector<std::int64_t>{1, 1}));
}

TEST(Simulate, AFullBackwardMayHaveItsOwnDuration) {
  const Schedule schedule{"mixed", {1, 1}, 2, {actions("0F0 0F1 0B0 0I1 0W1")}};

  EXPECT_EQ(simulate(schedule, {{{1, 2, 3}}, {}}).makespan, 1 + 1 + 5 + 2 + 3);
  EXPECT_EQ(simulate(schedule, {{{1, 2, 3, 4}}, {}}).makespan, 1 + 1 + 4 + 2 + 3);
}

TEST(Simulate, MicrobatchesOfAStageMayDiffer) {
  // Stage 0: 1 and 10 long, stage 1: 2 and 20; a backward takes as long as a forward.
  const Schedule schedule{"hand", {2, 1}, 2, {actions("0F0 0F1 0B0 0B1"), actions("1F0 1F1 1B0 1B1")}};

  const Simulation run = simulate(schedule, {{{1, 1, 0}, {10, 10, 0}, {2, 2, 0}, {20, 20, 0}}, {}});

  EXPECT_EQ(run.actions[0][1].end, 11);
  EXPECT_EQ(run.actions[1][1].end, 31);
  EXPECT_EQ(run.actions[1][2].end, 33);
  EXPECT_EQ(run.actions[0][3].end, 63);
}

TEST(Summarize, MeasuredTimesByHand) {
  // Rank 0 computes 2 + 3 of the 11 from 5 to 16; the message does not count; rank 1 computes nothing.
  const Schedule schedule{"hand", {2, 1}, 1, {actions("0F0 0SEND_F0 0B0"), {}}};

  const Simulation run = summarize(schedule, {{{5, 7}, {7, 90}, {13, 16}}, {}});

  EXPECT_EQ(run.makespan, 11);
  EXPECT_EQ(run.bubble, 6);
  EXPECT_EQ(run.bubble_rate, 6.0 / 11);
  EXPECT_EQ(run.peak_slots, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(run.actions[0][2].start, 13);
}

TEST(Simulate, LoweredMessagesHaveTimesAndTheSameMakespan) {
  for_each_generated([](const Schedule& schedule) {
    const Durations durations{{{2, 3, 1}}, {.5}};

    EXPECT_EQ(simulate(lower(schedule, true), durations).makespan, simulate(schedule, durations).makespan);
  });
}

TEST(Simulate, AMessageStartsAtItsSend) {
  const Schedule late{"late",
                      {2, 1},
                      2,
                      {actions("0F0 0F1 0SEND_F0 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1"),
                       actions("1RECV_F0 1F0 1RECV_F1 1F1 1B0 1B1 1SEND_B0 1SEND_B1")}};
  const Simulation run = simulate(late, {{{1, 1, 1}}, {.5}});
  EXPECT_EQ(run.actions[0][2].start, 2);  // 0SEND_F0, after 0F1
  EXPECT_EQ(run.actions[0][2].end, 2.5);
  EXPECT_EQ(run.actions[1][0].end, 2.5);    // 1RECV_F0
  EXPECT_EQ(run.actions[1][1].start, 2.5);  // 1F0
  EXPECT_EQ(run.actions[1][6].start, 8.5);  // 1SEND_B0, after 1B1
  EXPECT_EQ(run.actions[0][5].start, 9);    // 0B0

  const Schedule three = lower(make_schedule("1f1b", 3, 1), false);
  const Simulation cuts = simulate(three, {{{1, 1, 1}}, {.5, 2}});
  const auto length_of = [&](std::size_t rank, const Action& action) {
    const auto& list = three.ranks[rank];
    const auto at = static_cast<std::size_t>(std::find(list.begin(), list.end(), action) - list.begin());
    return cuts.actions[rank].at(at).end - cuts.actions[rank].at(at).start;
  };
  EXPECT_EQ(length_of(1, {1, ActionType::send_forward, 0}), 2);
  EXPECT_EQ(length_of(1, {1, ActionType::send_backward, 0}), .5);
  EXPECT_EQ(length_of(2, {2, ActionType::send_backward, 0}), 2);
}

TEST(Simulate, WithoutOverlapAMessageBeginsWhereItsReceiveIs) {
  const Schedule schedule{"backwards",
                          {3, 1},
                          2,
                          {actions("0RECV_B0 0B0 0RECV_B1 0B1"), actions("1RECV_B0 1B0 1SEND_B0 1RECV_B1 1B1 1SEND_B1"),
                           actions("2B0 2SEND_B0 2B1 2SEND_B1")}};

  const Simulation run = simulate(schedule, {{{1, 1, 1}}, {.5, 2}, false});

  EXPECT_EQ(run.actions[1][1].start, 4) << "reached before it was sent";
  EXPECT_EQ(run.actions[1][4].start, 8) << "sent at 4, but its receive comes after 1B0";
  EXPECT_EQ(run.actions[0][3].start, 10.5);
  EXPECT_EQ(simulate(schedule, {{{1, 1, 1}}, {.5, 2}}).actions[1][4].start, 6);

  const Schedule plain = make_schedule("1f1b", 2, 2);
  EXPECT_THAT(message_of<InputError>([&] {
                simulate(plain, {{{1, 1, 1}}, {}, false});
              }),
              HasSubstr("no SEND and RECV"));
}

TEST(Simulate, ChunksOfOneRankHaveNoCommunication) {
  const Schedule local{"local", {1, 2}, 1, {actions("0F0 1F0 1B0 0B0")}};

  EXPECT_EQ(simulate(local, {{{1, 1, 1}}, {100}}).makespan, 6);
}

TEST(Simulate, RefusesInvalidDurations) {
  const Schedule schedule = make_schedule("1f1b", 2, 2);
  const auto fault = [&](const Durations& durations) {
    return message_of<InputError>([&] { simulate(schedule, durations); });
  };
  EXPECT_THAT(fault({{{-1, 1, 1}}, {}}), HasSubstr("T_F"));
  EXPECT_THAT(fault({{{1, NAN, 1}}, {}}), HasSubstr("T_B"));
  EXPECT_THAT(fault({{{1, 1, INFINITY}}, {}}), HasSubstr("T_W"));
  EXPECT_THAT(fault({{{1, 1, 1, NAN}}, {}}), HasSubstr("full backward"));
  EXPECT_THAT(fault({{{1, 1, 1}}, {NAN}}), HasSubstr("T_comm"));
  EXPECT_THAT(fault({{{1, 1, 1}}, {1, 1, 1}}), HasSubstr("3 communication times for 2 stages; give one, or 1"));
  EXPECT_THAT(fault({{}, {}}), HasSubstr("0 rows of times for 2 stages"));
  EXPECT_THAT(fault({{{}, {}, {}}, {}}), HasSubstr("give one, or 2"));
}

TEST(Simulate, NamesTheActionInACycle) {
  const Schedule circle{"circle", {2, 1}, 2, {actions("0F0 0B0 0F1 0B1"), actions("1F0 1F1 1B0 1B1")}};

  EXPECT_THAT(message_of<InputError>([&] { simulate(circle, {{{}}, {}}); }), HasSubstr("rank 0, position 1, 0B0"));
}

}  // namespace
}  // namespace plumbline
