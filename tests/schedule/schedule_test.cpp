// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/schedule.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "schedule/verifier.hpp"
#include "tests/schedule/schedules.hpp"

namespace plumbline {
namespace {

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
        EXPECT_EQ(peak_slots(schedule.ranks[static_cast<std::size_t>(r)]), expected) << "rank " << r;
      }
    }
  });
}

}  // namespace
}  // namespace plumbline
