// SPDX-License-Identifier: BSD-3-Clause
// Messages move while ranks compute: every schedule in virtual time, with kernels and messages that take time, compared
// with the simulator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "schedule/lowering.hpp"
#include "schedule/simulator.hpp"
#include "tests/strict_nccl/list_executor.hpp"
#include "tests/strict_nccl/mistakes.hpp"

namespace plumbline::strict {
namespace {

using std::chrono::microseconds;

constexpr int microbatches = 8;
constexpr std::int64_t pass_us = 2000, message_us = 1000;

const ListExecutor::Times times = {{ActionType::forward, microseconds(pass_us)},
                                   {ActionType::backward, microseconds(2 * pass_us)},
                                   {ActionType::backward_input, microseconds(pass_us)},
                                   {ActionType::backward_weight, microseconds(pass_us)}};

/// The average share of the time from the first to the last compute in which a rank computes.
double executed(const Schedule& lowered, const GpuSeam& seam = {}, int busy_answers = 0,
                microseconds queue_time = microseconds(0)) {
  const Settings settings{.busy_answers = busy_answers,
                          .delay = [](int, int) { return microseconds(message_us); },
                          .queue_time = queue_time,
                          .virtual_time = true};
  const ListsOutcome outcome =
      run_lists(lowered, false, {.behavior = settings, .seam = seam, .nccl = {.run_ahead = 2}}, times);
  EXPECT_THAT(all_words(outcome), ::testing::MatchesRegex("\n*")) << lowered.name;
  const Time begin = std::ranges::min(outcome.computed, {}, &Computed::begin).begin;
  const Time end = std::ranges::max(outcome.computed, {}, &Computed::end).end;
  microseconds busy{0};
  for (const Computed& each : outcome.computed) busy += each.busy;
  return static_cast<double>(busy.count()) /
         static_cast<double>(std::ssize(outcome.computed) *
                             std::chrono::duration_cast<microseconds>(end - begin).count());
}

double simulated(const Schedule& lowered, bool overlap) {
  const Simulation run = simulate(lowered, {{{pass_us, pass_us, pass_us}}, {message_us}, overlap});
  double busy = 0;
  for (std::size_t rank = 0; rank < run.actions.size(); ++rank) {
    for (std::size_t i = 0; i < run.actions[rank].size(); ++i) {
      if (is_compute(lowered.ranks[rank][i].type)) busy += run.actions[rank][i].end - run.actions[rank][i].start;
    }
  }
  return busy / (static_cast<double>(run.actions.size()) * run.makespan);
}

Schedule listed(const std::string& name, int ranks = 4) {
  return lower(make_schedule(name, ranks, microbatches, default_chunks(name)), false);
}

TEST(Overlap, ComputeIsAsBusyAsTheSimulatorSays) {
  for (const std::string& name : schedule_names()) {
    EXPECT_GE(executed(listed(name)), simulated(listed(name), true) - 1e-9) << name;
  }
}

// NCCL starts a group on its own thread and answers "in progress". A host that queues compute does not poll.
TEST(Overlap, AGroupInProgressDoesNotDelayLaterGroups) {
  for (const std::string& name : schedule_names()) {
    const auto queued_with = [&](int busy_answers) {
      return executed(listed(name), {}, busy_answers, microseconds(pass_us / 2));
    };
    EXPECT_GE(queued_with(2), queued_with(0) - 1e-9) << name;
  }
}

// Two ranks with several stages in a loop send and receive in one direction, on one stream. There a receive comes after
// the previous send, which waits for compute.
TEST(Overlap, TwoRanksInALoopOverlapLess) {
  std::vector<std::string> slower;
  for (const std::string& name : schedule_names()) {
    if (executed(listed(name, 2)) < simulated(listed(name, 2), true) - 1e-9) slower.push_back(name);
  }
  EXPECT_THAT(slower, ::testing::ElementsAre("interleaved-1f1b", "looped-bfs"));
}

TEST(Overlap, ReceivesAfterComputeMatchTheSimulatorWithoutOverlap) {
  std::vector<std::unique_ptr<NcclApi>> made;
  const GpuSeam seam = [&](int, GpuApi inner) {
    return GpuApi{inner.cuda, *made.emplace_back(std::make_unique<ReceivesAfterCompute>(inner))};
  };
  int slower = 0;
  for (const std::string& name : schedule_names()) {
    const double share = executed(listed(name), seam);
    EXPECT_NEAR(share, simulated(listed(name), false), 1e-9) << name;
    if (share < simulated(listed(name), true) - 1e-3) ++slower;
  }
  EXPECT_EQ(slower, 3) << "afab, looped-bfs, and 1f1b once: the lists of the others receive early";
}

}  // namespace
}  // namespace plumbline::strict
