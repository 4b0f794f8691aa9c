// SPDX-License-Identifier: BSD-3-Clause
// What the sweeps of fixtures/sweeps plan.
#include <map>
#include <set>

#include "harness/sweep/sweep_plan.hpp"
#include "schedule/schedule.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/paths.hpp"

namespace plumbline::testing {
namespace {

const std::size_t schedules = schedule_names().size();

/// What issue and documents promise of the default sweep, counted.
TEST(DefaultSweep, CoversWhatItPromises) {
  const auto plan = make_plan(read_sweep_file(fixtures_path() + "/sweeps/default.toml"));

  std::map<std::string, std::set<std::int64_t>> worlds;  // of each model, optimizer and schedule
  int repeats = 0, equal_lengths = 0;
  bool none_first = false, none_last = false, none_on_neighbors = false, one_rank_alone = false;
  for (const auto& cell : plan.cells) {
    const CellPlan& asked = cell.plan;
    worlds[asked.model + " " + asked.optimizer + " " + asked.schedule].insert(asked.world);
    repeats += asked.repeat;
    if (asked.lengths.size() > 1 && std::set<std::int64_t>(asked.lengths.begin(), asked.lengths.end()).size() == 1) {
      ++equal_lengths;
    }
    const auto& balance = asked.balance;
    if (balance.empty()) continue;
    none_first |= balance.front() == 0;
    none_last |= balance.back() == 0;
    for (std::size_t stage = 1; stage < balance.size(); ++stage) {
      none_on_neighbors |= balance[stage - 1] == 0 && balance[stage] == 0;
    }
    one_rank_alone |= std::count(balance.begin(), balance.end(), 0) == std::ssize(balance) - 1;
  }

  int whole_matrices = 0;
  for (const auto& [what, sizes] : worlds)
    whole_matrices += sizes.size() == 8 && *sizes.begin() == 1 && *sizes.rbegin() == 8;
  EXPECT_EQ(whole_matrices, 8) << "2 models x 2 optimizers x 2 schedules at world sizes 1 to 8";
  EXPECT_EQ(plan.cells.size(), 64u + 8 * (schedules - 2) + 8 + 2 + 1 + 1 + 6);
  EXPECT_EQ(plan.references.size(), 4u + 1 + 1 + 1 + 4 + 2)
      << "dualpipe-v on 5 to 8 ranks needs twice the microbatches; two cells that are resumed are in bfloat16";
  std::set<std::string> resumed;
  for (const auto& cell : plan.cells) {
    if (cell.resumes_from) resumed.insert(cell.plan.model + " " + cell.plan.optimizer);
  }
  EXPECT_EQ(resumed.size(), 4U);
  EXPECT_THAT(plan.not_applicable, IsEmpty());
  EXPECT_EQ(repeats, 4);
  EXPECT_EQ(equal_lengths, 2);
  EXPECT_TRUE(none_first && none_last && none_on_neighbors && one_rank_alone);
}

TEST(DefaultSweep, EveryScheduleMeetsEveryWorldSizeModelAndOptimizer) {
  const auto plan = make_plan(read_sweep_file(fixtures_path() + "/sweeps/default.toml"));

  std::set<std::pair<std::string, std::int64_t>> at_world;
  std::set<std::pair<std::string, std::string>> with_model, with_optimizer;
  std::set<std::pair<std::int64_t, std::string>> world_with_model;
  std::map<std::int64_t, std::size_t> microbatches;
  for (const auto& cell : plan.cells) {
    at_world.emplace(cell.plan.schedule, cell.plan.world);
    with_model.emplace(cell.plan.schedule, cell.plan.model);
    with_optimizer.emplace(cell.plan.schedule, cell.plan.optimizer);
    world_with_model.emplace(cell.plan.world, cell.plan.model);
    if (cell.plan.schedule == "dualpipe-v") microbatches[cell.plan.world] = cell.plan.lengths.size();
  }

  EXPECT_EQ(at_world.size(), schedules * 8);
  EXPECT_GE(with_model.size(), schedules * 2);
  EXPECT_EQ(with_optimizer.size(), schedules * 2);
  EXPECT_GE(world_with_model.size(), schedules * 2);
  EXPECT_EQ(microbatches[4], 0U) << "its own 8 will do";
  EXPECT_EQ(microbatches[5], 16U) << "it needs two a rank, and 8 more are the next";
}

TEST(FullSweep, IsTheWholeProductAndNamesImpossibleCases) {
  const auto plan = make_plan(read_sweep_file(fixtures_path() + "/sweeps/full.toml"));

  EXPECT_EQ(plan.cells.size() + plan.not_applicable.size(), 4 * schedules * 8);
  EXPECT_THAT(plan.not_applicable, SizeIs(4 * 4)) << "dualpipe-v needs two microbatches a rank, and the runs have 8";
  EXPECT_THAT(plan.not_applicable, ::testing::Each(HasSubstr("-dualpipe-v-w")));
}

TEST(KeptSweeps, AllPlan) {
  for (const std::string name : {"quick", "article", "memory", "bf16", "gpu", "gpu-threads", "grid", "grid-threads"}) {
    EXPECT_THAT(make_plan(read_sweep_file(fixtures_path() + "/sweeps/" + name + ".toml")).cells, Not(IsEmpty()))
        << name;
  }
}

}  // namespace
}  // namespace plumbline::testing
