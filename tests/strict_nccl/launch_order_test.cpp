// SPDX-License-Identifier: BSD-3-Clause
// The launch order of groups on devices that execute strictly in order: every schedule, and random lists, executed over
// the NCCL transport with a few bytes per message.
#include <ATen/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "pipeline/replica_sum.hpp"
#include "pipeline/transport/group.hpp"
#include "schedule/lowering.hpp"
#include "schedule/message.hpp"
#include "tests/pipeline/parity.hpp"
#include "tests/strict_nccl/list_executor.hpp"
#include "tests/strict_nccl/mistakes.hpp"

namespace plumbline::strict {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

const std::map<std::string, Settings> devices = {{"parallel", {.busy_answers = 1}},
                                                 {"serial", {.busy_answers = 1, .serial_streams = true}},
                                                 {"launch_waits", {.busy_answers = 1, .launch_waits = true}}};

Outcome execute(const Schedule& lowered, bool tied, const Settings& device, int run_ahead,
                TransportSettings limits = {patience}) {
  return run_lists(lowered, tied, {.behavior = device, .transport = limits, .nccl = {.run_ahead = run_ahead}});
}

class LaunchOrder : public ::testing::TestWithParam<std::string> {};

TEST_P(LaunchOrder, CompletesEverySchedule) {
  for (const auto& [world, name] : worlds_and_schedules(8)) {
    for (const bool tied : {false, true}) {
      const Schedule lowered = lower(make_schedule(name, world, 8, default_chunks(name)), tied);
      const Outcome outcome = execute(lowered, tied, devices.at(GetParam()), tied ? 0 : 2);
      EXPECT_THAT(all_words(outcome), ::testing::MatchesRegex("\n*"))
          << name << ", " << world << (tied ? ", tied" : "");
    }
  }
}

TEST_P(LaunchOrder, CompletesTheSumOverReplicas) {
  const at::NoGradGuard no_grad;
  for (const int replicas : {2, 3, 5}) {
    StrictWorld world(replicas, devices.at(GetParam()));
    const RunOptions options{.ranks = replicas, .connect = false};
    const Outcome outcome = run_strict(world, options, [&](Transport& t) {
      t.connect(connections_of({1, 1, PlacementKind::loop}, false, replicas));
      TrainState state;
      for (const std::int64_t elements : {1 << 20, 3}) {  // one bucket each; the second has empty parts
        TrainedParameter parameter;
        parameter.value = at::full({elements}, 0.0F);
        parameter.value.mutable_grad() = at::full({elements}, static_cast<float>(t.rank() + 1));
        state.parameters.push_back(std::move(parameter));
      }
      ReplicaSum group(Group(t), at::kCPU);
      for (std::int64_t step = 0; step < 2; ++step) {
        group.start(step, 0, state);
        group.finish();
      }
      t.wait_for_sends();
      const auto sum = static_cast<float>(replicas * replicas * (replicas + 1) / 2);
      for (const TrainedParameter& each : state.parameters)
        EXPECT_TRUE(each.gradient().eq(sum).all().item<bool>()) << replicas;
      EXPECT_EQ(group.gather(2, 0, {static_cast<float>(t.rank())}).back(), static_cast<float>(replicas - 1));
    });
    EXPECT_THAT(all_words(outcome), ::testing::MatchesRegex("\n*")) << replicas;
  }
}

/// Compute actions in any order in which one process could run them, split over ranks.
Schedule random_schedule(std::minstd_rand& random) {
  const auto draw = [&](std::int32_t from, std::int32_t to) {
    return from + static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(to - from + 1));
  };
  Schedule made;
  made.name = "random";
  made.placement = {draw(2, 5), draw(1, 3), draw(0, 1) == 0 ? PlacementKind::loop : PlacementKind::v};
  made.microbatches = draw(1, 4);
  made.ranks.resize(static_cast<std::size_t>(made.placement.ranks));
  const std::int32_t last = made.placement.stages() - 1;
  std::vector<Action> open;
  for (std::int32_t m = 0; m < made.microbatches; ++m) open.push_back({0, ActionType::forward, m});
  while (!open.empty()) {
    const auto chosen = open.begin() + draw(0, static_cast<std::int32_t>(open.size()) - 1);
    const Action action = *chosen;
    open.erase(chosen);
    made.ranks.at(static_cast<std::size_t>(made.placement.rank_of(action.stage))).push_back(action);
    const auto next = [&](std::int32_t stage, ActionType type) { open.push_back({stage, type, action.microbatch}); };
    const ActionType backward = made.microbatches % 2 == 0 ? ActionType::backward : ActionType::backward_input;
    if (action.type == ActionType::forward && action.stage < last) next(action.stage + 1, ActionType::forward);
    if (action.type == ActionType::forward && action.stage == last) next(last, backward);
    if (action.type == backward && action.stage > 0) next(action.stage - 1, backward);
    if (action.type == ActionType::backward_input) next(action.stage, ActionType::backward_weight);
  }
  return made;
}

TEST_P(LaunchOrder, CompletesRandomLists) {
  const char* wanted = std::getenv("PLUMBLINE_RANDOM_LISTS");
  std::minstd_rand random(17);
  for (int left = wanted == nullptr ? 100 : std::atoi(wanted); left > 0; --left) {
    const bool tied = random() % 2 == 0;
    const Schedule lowered = lower(random_schedule(random), tied);
    const Outcome outcome = execute(lowered, tied, devices.at(GetParam()), left % 4);
    ASSERT_THAT(all_words(outcome), ::testing::MatchesRegex("\n*")) << lowered.placement.ranks << " ranks, " << left;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, LaunchOrder, ::testing::Values("parallel", "serial", "launch_waits"),
                         [](const auto& tested) { return tested.param; });

/// How many of the schedules on 3 ranks complete on a serial device after this change of their lists.
int completed_after(const std::function<void(ActionList&)>& change, const GpuSeam& seam = {}) {
  int ended = 0;
  for (const std::string& name : schedule_names()) {
    Schedule lowered = lower(make_schedule(name, 3, 6, default_chunks(name)), true);
    for (ActionList& list : lowered.ranks) change(list);
    const Outcome outcome = run_lists(lowered, true,
                                      {.behavior = {.busy_answers = 0, .serial_streams = true},
                                       .seam = seam,
                                       .transport = {std::chrono::seconds(2), patience}});
    if (all_words(outcome).find_first_not_of('\n') == std::string::npos) {
      ++ended;
    } else {
      EXPECT_THAT(all_words(outcome), AnyOf(HasSubstr("in a circle"), HasSubstr("time limit"))) << name;
    }
  }
  return ended;
}

// NCCL starts the communicators of a group in its own order.
TEST(SerialDevice, OrderOfGroupsMattersButNotOrderWithinAGroup) {
  const auto by_peer = [](ActionList& list) {
    const auto message = [](const Action& each) { return is_communication(each.type); };
    for (auto next = list.begin(); next != list.end();) {
      const auto begin = std::find_if(next, list.end(), message);
      next = std::find_if_not(begin, list.end(), message);
      std::stable_sort(begin, next, [](const Action& one, const Action& other) {
        return partner(one).stage < partner(other).stage;
      });
    }
  };
  const int all = static_cast<int>(schedule_names().size());

  EXPECT_EQ(completed_after(by_peer), all);
  EXPECT_LT(completed_after(by_peer, plant_nccl<SplitGroups>({0, 1, 2})), all);
}

TEST(SerialDevice, RevealsHoistedReceives) {
  EXPECT_LT(completed_after([](ActionList& list) {
              for (auto at = list.begin(); at != list.end(); ++at) {
                if (!is_communication(at->type) || is_send(at->type)) continue;
                const auto computes = [](const Action& each) { return is_compute(each.type); };
                const auto before = std::find_if(std::reverse_iterator(at), list.rend(), computes);
                if (before != list.rend()) std::rotate(std::prev(before.base()), at, std::next(at));
              }
            }),
            static_cast<int>(schedule_names().size()));
}

}  // namespace
}  // namespace plumbline::strict
