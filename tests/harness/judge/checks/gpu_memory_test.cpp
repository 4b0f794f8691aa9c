// SPDX-License-Identifier: BSD-3-Clause
// memory on GPUs: the same activation memory model, and the allocator's own counts.
#include <gmock/gmock.h>

#include <fstream>

#include "support/files.hpp"
#include "tests/harness/judge/checks/expect_memory_red.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SyntheticPlan on_gpus(const std::string& transport = "mpi") {
  SyntheticPlan plan;
  plan.device = "cuda";
  plan.transport = transport;
  return plan;
}

CheckResult expect_memory_not_run(SyntheticCell& cell) {
  const auto verdict = cell.judge();

  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(with_outcome(verdict, Outcome::fails), IsEmpty());
  EXPECT_EQ(result_of(verdict, "memory").outcome, Outcome::not_run);
  return result_of(verdict, "memory");
}

TEST(GpuMemory, IsJudgedAndItsFiguresAreTold) {
  SyntheticCell cell(on_gpus());
  cell.candidate.ranks[1].gpu_memory[1].free_bytes -= 77;

  const auto verdict = cell.judge();

  EXPECT_TRUE(verdict.holds);
  EXPECT_THAT(result_of(verdict, "memory").limit, HasSubstr("the GPU allocator's own count equal to the byte"));
  EXPECT_THAT(result_of(SyntheticCell().judge(), "memory").limit, ::testing::Not(HasSubstr("GPU")));
  const auto& memory = result_of(verdict, "memory");
  EXPECT_EQ(memory.outcome, Outcome::holds);
  EXPECT_EQ(memory.compared.at("gpu_rows"), 2 * synthetic_steps);
  EXPECT_EQ(memory.inspected.at("gpu_rows"), synthetic_steps) << "the reference's own";
  EXPECT_THAT(
      memory.measured,
      HasSubstr("requested from the allocator " + std::to_string(*cell.candidate.ranks[0].memory[0].peak_bytes) + ", " +
                std::to_string(*cell.candidate.ranks[1].memory[0].peak_bytes) +
                "; reserved by it 67108864, 67108864; "
                "outside it at most 500, 577 (context, NCCL, and other processes on that GPU)"));
}

TEST(GpuMemory, RunsOnCpusHaveNone) {
  SyntheticCell cell;

  const auto memory = result_of(cell.judge(), "memory");

  EXPECT_FALSE(memory.compared.contains("gpu_rows") || memory.inspected.contains("gpu_rows"));
  EXPECT_THAT(memory.measured, ::testing::Not(HasSubstr("GPU")));
}

TEST(GpuMemory, OneActivationKeptTooLongIsFoundAtItsAction) {
  SyntheticCell cell(on_gpus());
  for (auto& row : cell.candidate.ranks[0].actions) {
    if (row.step == 0 && row.index >= action_row(cell.candidate, 0, "0F1").index) *row.peak_bytes += 64;
  }

  EXPECT_EQ(expect_memory_red(cell).item, "0F1");
}

TEST(GpuMemory, StateBeyondWhatShapesGive) {
  SyntheticCell cell(on_gpus());
  *cell.candidate.ranks[0].memory[1].optimizer_bytes += 4;

  EXPECT_EQ(expect_memory_red(cell).item, "optimizer_bytes");
}

TEST(GpuMemory, ReferenceThatLeaksIsSeenAgainstTheFormOfItsKernel) {
  SyntheticCell cell(on_gpus());
  for (auto& row : cell.reference.ranks[0].saved) {
    if (row.microbatch == 2 && row.unit == "layers.1") row.saved_bytes += 64;
  }

  EXPECT_THAT(expect_memory_red(cell).words, HasSubstr("closed form"));
}

TEST(GpuMemory, OneTensorThatTheRunDidNotCount) {
  SyntheticCell cell(on_gpus());
  cell.candidate.ranks[1].gpu_memory[1].requested_peak_bytes += 64;

  const auto found = expect_memory_red(cell);

  EXPECT_EQ(found.item, "requested_peak_bytes");
  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.step, 1);
  const std::int64_t counted = *cell.candidate.ranks[1].memory[1].peak_bytes;
  EXPECT_EQ(found.expected, std::to_string(counted));
  EXPECT_EQ(found.got, std::to_string(counted + 64));
}

TEST(GpuMemory, OneTensorThatTheAllocatorDidNotSee) {
  SyntheticCell cell(on_gpus());
  cell.reference.ranks[0].gpu_memory[0].requested_peak_bytes -= 64;

  const auto found = expect_memory_red(cell);

  EXPECT_EQ(found.item, "requested_peak_bytes");
  EXPECT_THAT(found.words, HasSubstr("reference: step"));
}

TEST(GpuMemory, ReservedBelowWhatWasAskedFor) {
  SyntheticCell cell(on_gpus());
  auto& row = cell.candidate.ranks[0].gpu_memory[0];
  row.reserved_bytes = row.reserved_peak_bytes = row.requested_peak_bytes - 1;

  const auto found = expect_memory_red(cell);

  EXPECT_EQ(found.item, "reserved_peak_bytes");
  EXPECT_EQ(found.expected, "at least " + std::to_string(row.requested_peak_bytes));
}

TEST(GpuMemory, MoreReservedAtTheEndThanAtThePeak) {
  SyntheticCell cell(on_gpus());
  auto& row = cell.candidate.ranks[0].gpu_memory[0];
  row.reserved_bytes = row.reserved_peak_bytes + 1;
  row.free_bytes -= 16 << 20;

  EXPECT_EQ(expect_memory_red(cell).item, "reserved_bytes");
}

TEST(GpuMemory, MoreFreeThanTheAllocatorLeaves) {
  SyntheticCell cell(on_gpus());
  cell.candidate.ranks[0].gpu_memory[1].free_bytes += 501;

  EXPECT_EQ(expect_memory_red(cell).item, "free_bytes");
}

TEST(GpuMemory, WithoutTheFileItIsNotRun) {
  SyntheticCell cell(on_gpus());
  cell.candidate.ranks[1].gpu_memory.clear();

  EXPECT_THAT(expect_memory_not_run(cell).reason, HasSubstr("gpu_memory.csv of the candidate"));
}

TEST(GpuMemory, WithoutTheReferencesFileItIsNotRunEither) {
  SyntheticCell cell(on_gpus());
  cell.reference.ranks[0].gpu_memory.clear();

  EXPECT_THAT(expect_memory_not_run(cell).reason, HasSubstr("gpu_memory.csv of the reference"));
}

TEST(GpuMemory, AStepThatTheFileLacksFails) {
  SyntheticCell cell(on_gpus());
  cell.candidate.ranks[1].gpu_memory.pop_back();

  EXPECT_THAT(expect_red(cell, {"completion"}, "rank-1/gpu_memory.csv", 1).words, HasSubstr("no row of step 1"));
}

TEST(GpuMemory, AStepTwiceFails) {
  SyntheticCell cell(on_gpus());
  auto& rows = cell.candidate.ranks[0].gpu_memory;
  rows.push_back(rows.back());

  EXPECT_THAT(expect_red(cell, {"completion"}, "rank-0/gpu_memory.csv", 1).words,
              HasSubstr("a second row of the same key"));
}

/// The verdict over a candidate one of whose files was spoiled on disk.
CellVerdict with_spoiled_file(const std::function<std::string(std::string)>& spoil) {
  SyntheticCell cell(on_gpus());
  const auto reference = cell.write_reference(), candidate = cell.write_candidate();
  const auto path = candidate / "rank-1" / "gpu_memory.csv";
  write_file(path, spoil(read_file(path)));
  return judge_cell(cell.plan, reference, candidate);
}

TEST(GpuMemory, AFileCutOffInALineIsARecordThatCannotBeRead) {
  const auto verdict = with_spoiled_file([](std::string text) { return text.substr(0, text.size() - 3); });

  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(result_of(verdict, "completion").reason, AllOf(HasSubstr("rank-1"), HasSubstr("gpu_memory.csv")));
}

TEST(GpuMemory, ACellThatIsNoNumberIsNamed) {
  const auto verdict = with_spoiled_file([](std::string text) {
    const auto cell = text.find("\n0,") + 3;
    return text.replace(cell, text.find(',', cell) - cell, "much");
  });

  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(result_of(verdict, "completion").reason,
              AllOf(HasSubstr("requested_peak_bytes"), HasSubstr("'much' is not")));
}

TEST(GpuMemory, AColumnThatIsMissingIsNamed) {
  const auto verdict =
      with_spoiled_file([](std::string text) { return text.replace(text.find("reserved_b"), 10, "x"); });

  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(result_of(verdict, "completion").reason, HasSubstr("reserved_bytes"));
}

TEST(GpuMemory, RanksOfOneProcessShareItsPeak) {
  SyntheticCell cell(on_gpus("threads"));

  const auto verdict = cell.judge();

  EXPECT_TRUE(verdict.holds);
  EXPECT_THAT(result_of(verdict, "memory").measured, HasSubstr("(all of one process)"));
}

TEST(GpuMemory, AProcessTakesNoMoreThanItsRanksTogether) {
  SyntheticCell cell(on_gpus("threads"));
  cell.candidate.ranks[0].gpu_memory[1].requested_peak_bytes += 1;

  const auto found = expect_memory_red(cell);

  EXPECT_EQ(found.item, "requested_peak_bytes");
  const std::int64_t one = *cell.candidate.ranks[0].memory[1].peak_bytes,
                     other = *cell.candidate.ranks[1].memory[1].peak_bytes;
  EXPECT_EQ(found.expected, "at least " + std::to_string(one) + " and at most " + std::to_string(one + other));
}

TEST(GpuMemory, AProcessTakesNoLessThanEachOfItsRanks) {
  SyntheticCell cell(on_gpus("threads"));
  const std::int64_t most = *cell.candidate.ranks[0].memory[0].peak_bytes += 50;
  cell.candidate.ranks[0].gpu_memory[1].requested_peak_bytes = most - 1;  // the peak was in the step before

  const auto found = expect_memory_red(cell);

  EXPECT_EQ(found.step, 1);
  EXPECT_THAT(found.expected, HasSubstr("at least " + std::to_string(most)));
}

TEST(GpuMemory, AKernelWithoutAClosedFormIsSaidAndNotPassedOver) {
  SyntheticCell cell(on_gpus());
  cell.reference.manifest["environment"]["attention"] = "not fixed";

  const auto memory = result_of(cell.judge(), "memory");

  EXPECT_EQ(memory.outcome, Outcome::holds);
  EXPECT_THAT(memory.reason, AllOf(HasSubstr("not inspected"), HasSubstr("closed form of the bytes that a layer keeps"),
                                   HasSubstr("does not name the attention kernel")));
}

TEST(GpuMemory, TheLargestFiguresOfAllStepsAreTold) {
  SyntheticCell cell(on_gpus());
  auto& rank = cell.candidate.ranks[0];
  *rank.memory[0].peak_bytes += 8;
  rank.gpu_memory[0].requested_peak_bytes += 8;
  rank.gpu_memory[0].reserved_peak_bytes += 4096;
  rank.gpu_memory[0].free_bytes -= 1000;

  const auto memory = result_of(cell.judge(), "memory");

  EXPECT_EQ(memory.outcome, Outcome::holds) << memory.reason;
  EXPECT_THAT(memory.measured,
              HasSubstr("requested from the allocator " + std::to_string(*rank.memory[0].peak_bytes) + ", "));
  EXPECT_THAT(memory.measured, HasSubstr("reserved by it 67112960, 67108864; outside it at most 1500, 500 ("));
}

TEST(GpuMemory, AllThatIsReservedMayBeAskedForAndAllElseMayBeFree) {
  SyntheticCell cell(on_gpus());
  for (auto& row : cell.candidate.ranks[1].gpu_memory) {
    row.reserved_bytes = row.reserved_peak_bytes = row.requested_peak_bytes;
    row.free_bytes = row.total_bytes - row.reserved_bytes;
  }
  EXPECT_EQ(result_of(cell.judge(), "memory").outcome, Outcome::holds);
}

TEST(GpuMemory, AGpuHasBytes) {
  SyntheticCell cell(on_gpus());
  auto& row = cell.candidate.ranks[1].gpu_memory[1];
  row.reserved_bytes = row.free_bytes = row.total_bytes = 0;
  EXPECT_EQ(expect_memory_red(cell).item, "free_bytes");
}

TEST(GpuMemory, AnExternalRecordMayLackThePeakThatTheAllocatorsIsComparedWith) {
  for (const char* transport : {"mpi", "threads"}) {
    SyntheticCell cell(on_gpus(transport));
    cell.candidate.manifest["role"] = "external";
    cell.candidate.ranks[1].memory[1].peak_bytes.reset();

    const auto memory = result_of(cell.judge(), "memory");

    EXPECT_EQ(memory.outcome, Outcome::not_run) << memory.reason;
    EXPECT_THAT(memory.reason, HasSubstr("peak_bytes of the candidate"));
  }
}

TEST(GpuMemory, WhereARankLacksItsPeakAProcessIsHeldToNoSum) {
  SyntheticCell cell(on_gpus("threads"));
  cell.candidate.manifest["role"] = "external";
  cell.candidate.ranks[1].memory[1].peak_bytes.reset();
  cell.candidate.ranks[0].gpu_memory[1].requested_peak_bytes += 1 << 20;
  EXPECT_EQ(result_of(cell.judge(), "memory").outcome, Outcome::not_run);

  SyntheticCell less(on_gpus("threads"));
  less.candidate.manifest["role"] = "external";
  less.candidate.ranks[1].memory[1].peak_bytes.reset();
  less.candidate.ranks[0].gpu_memory[1].requested_peak_bytes = *less.candidate.ranks[0].memory[1].peak_bytes - 1;
  EXPECT_EQ(expect_memory_red(less).expected,
            "at least " + std::to_string(*less.candidate.ranks[0].memory[1].peak_bytes));
}

TEST(GpuMemory, ThePeaksOfARunsThreadsAreThoseOfAllItsSteps) {
  SyntheticCell cell(on_gpus("threads"));
  cell.candidate.ranks[0].gpu_memory[0].requested_peak_bytes += 50;
  *cell.candidate.ranks[1].memory[1].peak_bytes += 50;

  EXPECT_EQ(result_of(cell.judge(), "memory").outcome, Outcome::holds) << "its count is not taken at the steps' ends";
}

}  // namespace
}  // namespace plumbline::testing
