// memory: what the ranks' processes take, tensors or not.
#include <gmock/gmock.h>

#include <optional>
#include <utility>

#include "tests/harness/judge/checks/expect_memory_red.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t mebibyte = 1 << 20;

class ShareOfTheReference : public ::testing::Test {
 protected:
  ShareOfTheReference() {
    cell.plan.process_memory_limit = 0.6;
    cell.plan.launch = LaunchFinding{};
    cell.plan.reference_launch = LaunchFinding{};
    cell.plan.reference_launch->process_private_bytes = {200 * mebibyte};
    cell.plan.launch->process_private_bytes = {91 * mebibyte, 90 * mebibyte};
  }
  SyntheticCell cell;
};

TEST_F(ShareOfTheReference, WithinItsShareHoldsWithItsMargin) {
  const auto verdict = cell.judge();

  EXPECT_TRUE(verdict.holds);
  EXPECT_DOUBLE_EQ(result_of(verdict, "memory").margin.value_or(0), 91 / 120.0);
  EXPECT_THAT(result_of(verdict, "memory").limit, HasSubstr("private memory at most 0.6 of the reference's"));
}

TEST_F(ShareOfTheReference, AboveItsShareFailsAndNamesTheRank) {
  cell.plan.launch->process_private_bytes = {91 * mebibyte, 121 * mebibyte};

  const auto found = expect_memory_red(cell);

  EXPECT_EQ(found.item, "private memory");
  EXPECT_EQ(found.rank, 1);
}

TEST_F(ShareOfTheReference, WhatARankItselfSawCountsToo) {
  for (MemoryRow& row : cell.candidate.ranks[0].memory) row.process_private_bytes = 121 * mebibyte;

  EXPECT_EQ(expect_memory_red(cell).rank, 0);
}

TEST_F(ShareOfTheReference, PagesOfFilesDoNotCount) {
  cell.plan.launch->process_peak_bytes = {900 * mebibyte, 900 * mebibyte};

  EXPECT_TRUE(cell.judge().holds);
}

TEST_F(ShareOfTheReference, NotReadIsNotRun) {
  cell.plan.launch->process_private_bytes.clear();
  for (RankRecord& rank : cell.candidate.ranks)
    for (MemoryRow& row : rank.memory) row.process_private_bytes = 0;

  const auto verdict = cell.judge();

  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(result_of(verdict, "memory").outcome, Outcome::not_run);
  EXPECT_THAT(result_of(verdict, "memory").reason, HasSubstr("private memory of rank 0"));
}

/// A base of 80 MiB, 5 of them MPI's; the ranks themselves wrote 90 MiB, the reference 60, and of tensors they have
/// next to nothing.
class PrivateMemory : public ::testing::Test {
 protected:
  PrivateMemory() : PrivateMemory(SyntheticPlan{}) {}
  explicit PrivateMemory(const SyntheticPlan& synthetic) : cell(synthetic) {
    cell.plan.process_base = ProcessBase{80 * mebibyte, 75 * mebibyte};
    cell.plan.launch = LaunchFinding{};
    cell.plan.launch->process_private_bytes = {85 * mebibyte, 86 * mebibyte};
  }
  SyntheticCell cell;
};

TEST_F(PrivateMemory, WithinItsLimitHoldsWithItsMargin) {
  const auto memory = result_of(cell.judge(), "memory");

  EXPECT_EQ(memory.outcome, Outcome::holds) << memory.reason;
  EXPECT_EQ(memory.compared.at("private_memory"), 2);
  EXPECT_THAT(memory.measured, AllOf(HasSubstr("private memory of a process at most 94371840 of"),
                                     HasSubstr("83886080 for the libraries")));
  EXPECT_NEAR(memory.margin.value_or(0), 90.0 / (1.05 * 112), 1e-3);
}

TEST_F(PrivateMemory, WhatARankWritesOfItselfIsHeldInEachStep) {
  *cell.candidate.ranks[1].memory[1].process_private_bytes = 118 * mebibyte;

  const auto found = expect_memory_red(cell);

  EXPECT_EQ(found.item, "private memory");
  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.step, 1);
}

TEST_F(PrivateMemory, WhatTheLauncherSawBetweenStepsIsHeldToo) {
  cell.plan.launch->process_private_bytes[0] = 1024 * mebibyte;

  const auto found = expect_memory_red(cell);

  EXPECT_EQ(found.rank, 0);
  EXPECT_EQ(found.got, "1073741824");
}

TEST_F(PrivateMemory, TensorsAreAllowedFor) {
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) {
      for (auto& row : rank.memory) *row.peak_bytes += 400;  // within what may live at once
    }
  }
  cell.plan.launch->process_private_bytes[0] = (112 * mebibyte + 400) * 105 / 100;

  EXPECT_TRUE(cell.judge().holds);
}

/// Whether the cell holds; a cell is judged once.
bool holds(const SyntheticCell& cell) {
  SyntheticCell each;
  each.reference = cell.reference;
  each.candidate = cell.candidate;
  each.plan = cell.plan;
  return each.judge().holds;
}

// A library may keep memory for every shape that it meets, as oneDNN does in bfloat16: the reference meets all of them.
TEST_F(PrivateMemory, WhatTheReferencesProcessTookBesidesItsTensorsIsAllowedForWithMpis) {
  *cell.reference.ranks[0].memory[1].process_private_bytes = 150 * mebibyte;
  MemoryRow& row = cell.candidate.ranks[1].memory[0];
  for (MemoryRow& each : cell.candidate.ranks[1].memory) each.heap_free_bytes.reset();
  const std::int64_t libraries = 155 * mebibyte - *cell.reference.ranks[0].memory[1].peak_bytes;
  const std::int64_t limit = (libraries + *row.peak_bytes + 32 * mebibyte) * 105 / 100;
  for (const std::int64_t more : {0, 1}) {
    row.process_private_bytes = limit + more;
    EXPECT_EQ(holds(cell), more == 0);
  }
}

// Freed tensors of several microbatches may leave gaps in the heap that the next ones do not fit into.
TEST_F(PrivateMemory, WhatMallocKeepsOfAStepsTensorsIsAllowedFor) {
  auto& rows = cell.candidate.ranks[1].memory;
  const std::int64_t freed_in_a_step = *rows[0].peak_bytes - *rows[0].live_bytes;
  ASSERT_GT(freed_in_a_step, 20);
  const std::int64_t without = 112 * mebibyte + *rows[0].peak_bytes;
  for (const auto& [heap_free, kept] :
       {std::pair{std::optional<std::int64_t>(mebibyte), freed_in_a_step}, {20, 20}, {0, 0}, {std::nullopt, 0}}) {
    for (MemoryRow& row : rows) row.heap_free_bytes = heap_free;
    for (const std::int64_t more : {0, 1}) {
      cell.plan.launch->process_private_bytes[1] = (without + kept) * 105 / 100 + more;
      EXPECT_EQ(holds(cell), more == 0) << heap_free.value_or(-1);
    }
  }
}

// What leaked is not free, however much the steps' tensors leave room for.
TEST_F(PrivateMemory, WhatMallocHasNotFreeAtAStepsEndIsHeldToWhatLivesThen) {
  MemoryRow& row = cell.candidate.ranks[1].memory[1];
  const std::int64_t limit = (112 * mebibyte + *row.live_bytes) * 105 / 100;
  row.heap_free_bytes = 16;
  row.process_private_bytes = limit + 16;
  EXPECT_TRUE(holds(cell));

  row.process_private_bytes = limit + 17;

  const auto found = expect_memory_red(cell);
  EXPECT_EQ(found.item, "private memory in use");
  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.step, 1);
  EXPECT_EQ(found.got, std::to_string(limit + 1));
}

TEST_F(PrivateMemory, WhatTheReferencesHeapHasFreeIsNoLibrarys) {
  for (MemoryRow& row : cell.reference.ranks[0].memory) {
    row.process_private_bytes = 150 * mebibyte;
    row.heap_free_bytes = 100 * mebibyte;
  }
  for (MemoryRow& row : cell.candidate.ranks[1].memory) row.process_private_bytes = 130 * mebibyte;

  EXPECT_EQ(expect_memory_red(cell).item, "private memory in use");
}

TEST_F(PrivateMemory, ALauncherThatSawNothingLeavesWhatTheRanksWrote) {
  cell.plan.launch->process_private_bytes.clear();
  EXPECT_TRUE(cell.judge().holds);

  *cell.candidate.ranks[0].memory[0].process_private_bytes = 1024 * mebibyte;
  SyntheticCell again;
  again.candidate = cell.candidate;
  again.plan = cell.plan;
  EXPECT_EQ(expect_memory_red(again).item, "private memory");
}

/// Why the limit does not hold, in the list of what was not looked at.
std::string told(SyntheticCell& cell) {
  const auto memory = result_of(cell.judge(), "memory");
  EXPECT_EQ(memory.outcome, Outcome::holds) << memory.reason;
  EXPECT_FALSE(memory.compared.contains("private_memory"));
  const auto at = memory.reason.find("private memory of the processes (");
  return at == std::string::npos ? "" : memory.reason.substr(at);
}

TEST_F(PrivateMemory, WhereItCannotBeToldApartIsSaid) {
  SyntheticPlan threads;
  threads.transport = "threads";
  SyntheticCell one_process(threads), sanitized, external, unknown;
  for (auto* each : {&one_process, &sanitized, &external}) each->plan = cell.plan;
  sanitized.candidate.manifest["environment"]["sanitizer"] = "address";
  external.candidate.manifest["role"] = "external";
  unknown.plan.why_no_process_base = "the run base-1 to measure a base by failed: no slots";

  EXPECT_THAT(told(one_process), HasSubstr("threads of one process"));
  EXPECT_THAT(told(sanitized), HasSubstr("a sanitizer"));
  EXPECT_THAT(told(external), HasSubstr("another program's"));
  EXPECT_THAT(told(unknown), HasSubstr("failed: no slots"));
}

TEST_F(ShareOfTheReference, ExactlyAtItsLimitHolds) {
  cell.plan.launch->process_private_bytes = {120 * mebibyte, 90 * mebibyte};

  const auto memory = result_of(cell.judge(), "memory");

  EXPECT_EQ(memory.outcome, Outcome::holds) << memory.reason;
  EXPECT_EQ(memory.margin, 1);
  EXPECT_EQ(memory.compared.at("processes"), 2);
}

TEST_F(ShareOfTheReference, OfAReferenceThatNobodyMeasuredIsNotRun) {
  cell.plan.reference_launch.reset();
  for (MemoryRow& row : cell.reference.ranks[0].memory) row.process_private_bytes = 0;

  const auto memory = result_of(cell.judge(), "memory");

  EXPECT_EQ(memory.outcome, Outcome::not_run);
  EXPECT_THAT(memory.reason, HasSubstr("the private memory of the reference's process"));
}

TEST_F(ShareOfTheReference, AboveItsShareIsToldOfTheCandidate) {
  cell.plan.launch->process_private_bytes = {121 * mebibyte, 90 * mebibyte};

  EXPECT_THAT(expect_memory_red(cell).words, HasSubstr("candidate, rank 0"));
}

// What is certainly allowed is less than the limit by the 5 % and by what malloc keeps.
TEST_F(PrivateMemory, AStepWithinTheLimitBeforeOneBeyondItHidesNothing) {
  auto& rows = cell.candidate.ranks[1].memory;
  rows[0].process_private_bytes = 115 * mebibyte;
  rows[1].process_private_bytes = 118 * mebibyte;

  const auto found = expect_memory_red(cell);

  EXPECT_EQ(found.step, 1);
  EXPECT_EQ(found.got, std::to_string(118 * mebibyte));
}

TEST_F(PrivateMemory, TheFirstStepBeyondTheLimitIsToldWithTheMostOfAllSteps) {
  for (const auto& [first, second] : {std::pair{119, 118}, {118, 119}}) {
    SyntheticCell each;
    each.plan = cell.plan;
    auto& rows = each.candidate.ranks[1].memory;
    rows[0].process_private_bytes = first * mebibyte;
    rows[1].process_private_bytes = second * mebibyte;

    const auto found = expect_memory_red(each);

    EXPECT_EQ(found.step, 0);
    EXPECT_EQ(found.got, std::to_string(119 * mebibyte));
  }
}

TEST_F(PrivateMemory, ThatNobodySawIsRed) {
  cell.plan.launch->process_private_bytes.clear();
  for (MemoryRow& row : cell.candidate.ranks[1].memory) row.process_private_bytes = 0, row.heap_free_bytes = 0;

  const auto found = expect_memory_red(cell);

  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.item, "private memory");
  EXPECT_EQ(found.got, "0");
}

TEST_F(PrivateMemory, InUseAtAStepsEndMayBeTheReferencesBesideWhatLivesThenWithMpis) {
  for (MemoryRow& row : cell.reference.ranks[0].memory) {
    row.process_private_bytes = 200 * mebibyte;
    row.heap_free_bytes = 60 * mebibyte;
  }
  MemoryRow& row = cell.candidate.ranks[1].memory[1];
  const std::int64_t libraries = 145 * mebibyte - *cell.reference.ranks[0].memory[1].live_bytes;
  const std::int64_t limit = (libraries + *row.live_bytes + 32 * mebibyte) * 105 / 100;
  row.heap_free_bytes = 16;
  for (const std::int64_t more : {0, 1}) {
    row.process_private_bytes = limit + 16 + more;
    EXPECT_EQ(holds(cell), more == 0);
  }
}

// Of the two limits the nearer is told, with the share of it that was used.
TEST_F(PrivateMemory, TheNearerOfItsLimitsIsItsMargin) {
  for (MemoryRow& row : cell.reference.ranks[0].memory) {
    row.process_private_bytes = 400 * mebibyte;
    row.heap_free_bytes = 399 * mebibyte;
  }
  for (MemoryRow& row : cell.candidate.ranks[1].memory) {
    row.process_private_bytes = 110 * mebibyte;
    row.heap_free_bytes = 0;
  }

  const auto memory = result_of(cell.judge(), "memory");

  EXPECT_NEAR(memory.margin.value_or(0), 110.0 / (1.05 * 112), 1e-3);
  EXPECT_THAT(memory.measured, HasSubstr("private memory of a process in use at a step's end at most 115343360 of"));
}

TEST_F(PrivateMemory, WhereOtherKindsOfRunsCannotBeToldApartIsSaid) {
  SyntheticPlan gpus;
  gpus.device = "cuda";
  SyntheticCell another_transport, on_gpus(gpus);
  for (auto* each : {&another_transport, &on_gpus}) each->plan = cell.plan;
  another_transport.candidate.manifest["transport"] = "nccl";

  EXPECT_THAT(told(another_transport), HasSubstr("ranks over nccl may share a process"));
  EXPECT_THAT(told(on_gpus), HasSubstr("memory of a GPU's driver"));
}

}  // namespace
}  // namespace plumbline::testing
