// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>

#include "model/unit.hpp"
#include "pipeline/memory.hpp"
#include "schedule/schedule.hpp"
#include "tests/paths.hpp"
#include "training/run.hpp"

namespace plumbline {
namespace {

plumbline::Run made_run() {
  return load_run(testing::fixtures_path() + "/runs/quick.toml", std::nullopt);
}

// All microbatches are in flight at once under AFAB; 1F1B's last rank has one.
TEST(RankMemory, TheScheduleDeterminesTheMicrobatchesInFlight) {
  const plumbline::Run s = made_run();
  const std::vector<UnitRange> stages{{0, 4}, {4, 8}};
  std::int64_t all = 0, largest = 0;
  for (std::int64_t m = 0; m < s.batches.microbatches(); ++m) {
    const std::int64_t saved =
        plan_saved(s.config, stages[1], s.batches.batch(m) * s.batches.sequence_length(m), at::kFloat);
    all += saved;
    largest = std::max(largest, saved);
  }
  const auto plan = [&](const char* schedule) {
    const Schedule list = make_schedule(schedule, 2, static_cast<std::int32_t>(s.batches.microbatches()), 1);
    return plan_rank_memory(s, s.batches, stages, {1}, list.ranks.at(1));
  };

  const std::int64_t gradient = 4 * s.config.vocab_size * s.config.hidden_size;  // of the head
  EXPECT_EQ(plan("afab").activations, all + gradient);
  EXPECT_EQ(plan("1f1b").activations, largest + gradient);
  EXPECT_EQ(plan("afab").state(), plan("1f1b").state());
}

// A schedule that splits the backward pass releases a microbatch after its second half, the weight gradients.
TEST(RankMemory, ASplitBackwardKeepsItsMicrobatchUntilW) {
  const plumbline::Run s = made_run();
  const std::vector<UnitRange> stages{{0, 8}};
  const auto action = [](ActionType type, std::int32_t microbatch) {
    return Action{.stage = 0, .type = type, .microbatch = microbatch};
  };
  const auto saved = [&](std::int64_t m) {
    return plan_saved(s.config, stages[0], s.batches.padded_tokens(m), at::kFloat);
  };
  using enum ActionType;

  const ActionList kept = {action(forward, 0),         action(backward_input, 0), action(forward, 1),
                           action(backward_weight, 0), action(backward_input, 1), action(backward_weight, 1)};
  const ActionList given_up = {action(forward, 0), action(backward_input, 0), action(backward_weight, 0),
                               action(forward, 1), action(backward_input, 1), action(backward_weight, 1)};

  const std::int64_t gradient = 4 * s.config.vocab_size * s.config.hidden_size;
  EXPECT_EQ(plan_rank_memory(s, s.batches, stages, {0}, kept).activations, saved(0) + saved(1) + gradient);
  EXPECT_EQ(plan_rank_memory(s, s.batches, stages, {0}, given_up).activations, std::max(saved(0), saved(1)) + gradient);
}

// What the backward pass recomputes is live together with what is still saved.
TEST(RankMemory, CountsRecomputationInTheBackwardPassOnly) {
  plumbline::Run s = made_run();
  s.train.recompute = Recompute::layer;
  const std::vector<UnitRange> stages{{0, 8}};
  const Schedule list = make_schedule("1f1b", 1, static_cast<std::int32_t>(s.batches.microbatches()), 1);
  std::int64_t largest = 0;
  for (std::int64_t m = 0; m < s.batches.microbatches(); ++m) {
    const std::int64_t tokens = s.batches.padded_tokens(m);
    largest = std::max(largest, plan_saved(s.config, stages[0], tokens, at::kFloat, Recompute::layer) +
                                    plan_backward(s.config, stages[0], tokens, s.train));
  }

  EXPECT_EQ(plan_rank_memory(s, s.batches, stages, {0}, list.ranks.at(0)).activations, largest);
}

// Parameters, gradients and optimizer state are those of all stages of the rank, and of no others.
TEST(RankMemory, CountsTheStateOfTheRanksStages) {
  const plumbline::Run s = made_run();
  const std::vector<UnitRange> stages{{0, 2}, {2, 5}, {5, 8}};

  const MemoryPlan plan = plan_rank_memory(s, s.batches, stages, {0, 2}, {});

  EXPECT_EQ(plan.state(), plan_state(s.config, {{0, 2}, {5, 8}}, s.train).state());
  EXPECT_GT(plan.state(), plan_rank_memory(s, s.batches, stages, {2}, {}).state());
}

TEST(RankMemory, AnEmptyStageNeedsNothing) {
  const plumbline::Run s = made_run();
  const Schedule list = make_schedule("1f1b", 2, static_cast<std::int32_t>(s.batches.microbatches()), 1);

  const MemoryPlan plan = plan_rank_memory(s, s.batches, {{0, 8}, {8, 8}}, {1}, list.ranks.at(1));

  EXPECT_EQ(plan.total(), 0);
}

}  // namespace
}  // namespace plumbline
