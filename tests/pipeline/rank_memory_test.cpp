#include "pipeline/rank_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/unit.hpp"
#include "schedule/schedule.hpp"
#include "training/training_run.hpp"

namespace plumbline {
namespace {

TrainingRun training() {
  return load_training_run(PLUMBLINE_FIXTURES "/runs/quick.toml", std::nullopt);
}

// All microbatches are in flight at once under AFAB; 1F1B's last rank has one.
TEST(RankMemory, TheScheduleDecidesHowManyMicrobatchesAreKept) {
  const TrainingRun s = training();
  const std::vector<UnitRange> stages{{0, 4}, {4, 8}};
  std::int64_t all = 0, largest = 0;
  for (std::int64_t m = 0; m < s.plan.microbatches(); ++m) {
    const std::int64_t saved = plan_saved(s.config, stages[1], s.plan.batch(m) * s.plan.sequence_length(m), at::kFloat);
    all += saved;
    largest = std::max(largest, saved);
  }
  const auto plan = [&](const char* schedule) {
    const Schedule list = make_schedule(schedule, 2, static_cast<std::int32_t>(s.plan.microbatches()), 1);
    return plan_rank_memory(s, stages, {1}, list.ranks.at(1));
  };

  EXPECT_EQ(plan("afab").activations, all);
  EXPECT_EQ(plan("1f1b").activations, largest);
  EXPECT_EQ(plan("afab").state(), plan("1f1b").state());
}

TEST(RankMemory, AStageThatOnlyRelaysTakesNothing) {
  const TrainingRun s = training();
  const Schedule list = make_schedule("1f1b", 2, static_cast<std::int32_t>(s.plan.microbatches()), 1);

  const MemoryPlan plan = plan_rank_memory(s, {{0, 8}, {8, 8}}, {1}, list.ranks.at(1));

  EXPECT_EQ(plan.total(), 0);
}

}  // namespace
}  // namespace plumbline
