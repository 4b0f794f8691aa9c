// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/simulator.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "schedule/closed_forms.hpp"
#include "schedule/lowering.hpp"
#include "tests/schedule/schedules.hpp"

namespace plumbline {
namespace {

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

TEST(Simulate, LoweredMessagesHaveTimesAndTheSameMakespan) {
  for_each_generated([](const Schedule& schedule) {
    const Durations durations{{{2, 3, 1}}, {.5}};

    EXPECT_EQ(simulate(lower(schedule, true), durations).makespan, simulate(schedule, durations).makespan);
  });
}

}  // namespace
}  // namespace plumbline
