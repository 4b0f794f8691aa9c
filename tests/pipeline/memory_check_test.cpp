// SPDX-License-Identifier: BSD-3-Clause
// Compares the free memory of the ranks' machines with their plans before anything is allocated.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "pipeline/memory.hpp"
#include "pipeline/transport/threads_transport.hpp"
#include "pipeline/transport/transport.hpp"
#include "support/error.hpp"
#include "support/machine_memory.hpp"
#include "tests/paths.hpp"
#include "tests/pipeline/transport/ranks.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;

plumbline::Run quick_training() {
  return load_run(testing::fixtures_path() + "/runs/quick.toml", std::nullopt);
}

std::string machine(const std::string& name, std::int64_t free_bytes) {
  return name + " " + std::to_string(free_bytes);
}

TEST(MemoryCheck, SumsTheRanksOfAMachine) {
  const plumbline::Run run = quick_training();
  const PipelinePlan plan = make_plan(run, 3);
  const std::int64_t all = memory_of(run, plan, std::vector{0, 1, 2}).total();
  const std::int64_t first_two = memory_of(run, plan, std::vector{0, 1}).total();
  const std::int64_t last = memory_of(run, plan, 2).total();
  ASSERT_EQ(first_two + last, all);

  EXPECT_NO_THROW(require_free_memory({machine("a", all), machine("a", all + 1), machine("a", all)}, run, plan));
  EXPECT_THAT(error_of<SystemError>([&] {
                require_free_memory({machine("a", all), machine("a", all - 1), machine("a", all)}, run, plan);
              }),
              AllOf(HasSubstr("this machine, for all 3 ranks, has " + bytes_text(all - 1) + " of memory free"),
                    HasSubstr("the plan is at least " + bytes_text(all) + ": parameters "), HasSubstr("--check")));
  EXPECT_NO_THROW(
      require_free_memory({machine("a", first_two), machine("a", first_two), machine("b", last)}, run, plan));
  EXPECT_THAT(error_of<SystemError>([&] {
                require_free_memory({machine("a", first_two - 1), machine("a", all), machine("b", last)}, run, plan);
              }),
              HasSubstr("machine a, for ranks 0, 1, has "));
  EXPECT_NO_THROW(
      require_free_memory({machine("a#1", first_two), machine("a#1", first_two), machine("a#2", last)}, run, plan))
      << "two machines with the same name";
}

TEST(MemoryCheck, ReportsHostAndFreeMemory) {
  std::array<char, 256> name{};
  ASSERT_EQ(gethostname(name.data(), name.size() - 1), 0);

  EXPECT_THAT(own_machine(), ::testing::MatchesRegex("[^ ]+ [0-9]+"));
  EXPECT_THAT(own_machine(), ::testing::MatchesRegex(std::string(name.data()) + "#[0-9a-f]{8} [0-9]+"))
      << "containers may share a name; the kernel's start time distinguishes their machines";
}

TEST(MemoryCheck, GroupsRanksByMachine) {
  plumbline::Run run = quick_training();
  const PipelinePlan plan = make_plan(run, 2);
  run.config.vocab_size = std::int64_t{1} << 40;  // an embedding of 256 TiB and more
  const auto transports = make_threads_transports(2, {std::chrono::seconds(60)});
  std::string said;

  run_on_threads(transports, Ending::clean, [&](Transport& transport) {
    const auto check = [&] { require_free_memory_everywhere(transport, run, plan); };
    if (transport.rank() == 0) {
      said = error_of<SystemError>(check);
    } else {
      EXPECT_NO_THROW(check()) << "rank 0 reports it";
    }
  });

  EXPECT_THAT(said, HasSubstr("this machine, for all 2 ranks, has "));
}

TEST(MemoryTable, HasARowForEachNumberOfRanks) {
  plumbline::Run run = quick_training();
  run.pipeline.schedule = "dualpipe-v";

  const Json table = memory_table(run, 1);

  ASSERT_EQ(table.size(), 9U);
  EXPECT_EQ(table[0].at("devices"), "reference");
  EXPECT_EQ(table[0].at("total"), plan_one_device(run).total());
  EXPECT_EQ(table[2].at("devices"), "2 ranks");
  EXPECT_EQ(table[2].at("parameters"), memory_of(run, make_plan(run, 2), 0).parameters);
  EXPECT_THAT(table[8].at("refusal"), HasSubstr("microbatches")) << "this schedule does not run on 8 ranks";
}

TEST(MemoryPlans, CountWhatNcclTakesForEachNeighbor) {
  plumbline::Run run = quick_training();
  for (const int world : {2, 3}) {  // rank 1 has world - 1 neighbors
    const PipelinePlan plan = make_plan(run, world);
    run.pipeline.transport = "mpi";
    const std::int64_t without = memory_of(run, plan, 1).total();
    run.pipeline.transport = "nccl";
    EXPECT_EQ(memory_of(run, plan, 1).total() - without, (world - 1) * ((std::int64_t{6} << 30) / 5));
    EXPECT_THAT(memory_plan_text(run, plan, 1), HasSubstr(world == 2 ? ", NCCL 1.20 GiB" : ", NCCL 2.40 GiB"));
  }
}

TEST(MemoryTable, ShowsTheRankThatNeedsMost) {
  const plumbline::Run run = quick_training();
  const PipelinePlan plan = make_plan(run, 8);  // the first rank has only the embedding
  std::int64_t most = 0;
  for (int rank = 0; rank < 8; ++rank) most = std::max(most, memory_of(run, plan, rank).total());

  EXPECT_EQ(memory_table(run, 1)[8].at("total"), most);
}

TEST(MemoryTable, ShowsTheSavingsOfRecomputation) {
  plumbline::Run run = quick_training();
  run.pipeline.schedule = "afab";
  const Json kept = memory_table(run, 1);
  run.train.recompute = Recompute::layer;

  const Json again = memory_table(run, 1);

  EXPECT_LT(again[2].at("activations"), kept[2].at("activations"));
}

}  // namespace
}  // namespace plumbline
