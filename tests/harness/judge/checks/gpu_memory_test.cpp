// SPDX-License-Identifier: BSD-3-Clause
// memory on GPUs: the same activation memory model, and the allocator's own counts.
#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SyntheticPlan on_gpus(const std::string& transport = "mpi") {
  return {.device = "cuda", .transport = transport};
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

TEST(GpuMemory, EachWayInWhichBytesAreWrongIsTold) {
  expect_each_red({"memory"},
                  {{"an activation kept too long",
                    [](auto& cell) {
                      const auto from = action_row(cell.candidate, 0, "0F1").index;
                      for (auto& row : cell.candidate.ranks[0].actions) {
                        if (row.step == 0 && row.index >= from) *row.peak_bytes += 64;
                      }
                    },
                    {.item = "0F1"}},
                   {"state beyond what shapes give",
                    [](auto& cell) { *cell.candidate.ranks[0].memory[1].optimizer_bytes += 4; },
                    {.item = "optimizer_bytes"}},
                   {"a reference that leaks, against the form of its kernel",
                    [](auto& cell) {
                      for (auto& row : cell.reference.ranks[0].saved) {
                        if (row.microbatch == 2 && row.unit == "layers.1") row.saved_bytes += 64;
                      }
                    },
                    {.words = "closed form"}},
                   {"a tensor that the allocator did not see",
                    [](auto& cell) { cell.reference.ranks[0].gpu_memory[0].requested_peak_bytes -= 64; },
                    {.item = "requested_peak_bytes", .words = "reference: step"}},
                   {"more reserved at the end than at the peak",
                    [](auto& cell) {
                      auto& row = cell.candidate.ranks[0].gpu_memory[0];
                      row.reserved_bytes = row.reserved_peak_bytes + 1;
                      row.free_bytes -= 16 << 20;
                    },
                    {.item = "reserved_bytes"}},
                   {"more free than the allocator leaves",
                    [](auto& cell) { cell.candidate.ranks[0].gpu_memory[1].free_bytes += 501; },
                    {.item = "free_bytes"}},
                   {"a GPU without bytes",
                    [](auto& cell) {
                      auto& row = cell.candidate.ranks[1].gpu_memory[1];
                      row.reserved_bytes = row.free_bytes = row.total_bytes = 0;
                    },
                    {.item = "free_bytes"}}},
                  on_gpus());
}

TEST(GpuMemory, OneTensorThatTheRunDidNotCount) {
  SyntheticCell cell(on_gpus());
  cell.candidate.ranks[1].gpu_memory[1].requested_peak_bytes += 64;

  const std::int64_t counted = *cell.candidate.ranks[1].memory[1].peak_bytes;

  expect_red(cell, {"memory"},
             {.step = 1,
              .rank = 1,
              .item = "requested_peak_bytes",
              .expected = std::to_string(counted),
              .got = std::to_string(counted + 64)});
}

TEST(GpuMemory, ReservedBelowWhatWasAskedFor) {
  SyntheticCell cell(on_gpus());
  auto& row = cell.candidate.ranks[0].gpu_memory[0];
  row.reserved_bytes = row.reserved_peak_bytes = row.requested_peak_bytes - 1;

  expect_red(cell, {"memory"},
             {.item = "reserved_peak_bytes", .expected = "at least " + std::to_string(row.requested_peak_bytes)});
}

TEST(GpuMemory, WithoutTheFileOfOneRecordItIsNotRun) {
  for (const bool of_candidate : {true, false}) {
    SyntheticCell cell(on_gpus());
    (of_candidate ? cell.candidate : cell.reference).ranks.back().gpu_memory.clear();
    const auto verdict = cell.judge();
    EXPECT_FALSE(verdict.holds);
    EXPECT_THAT(with_outcome(verdict, Outcome::differs), IsEmpty());
    EXPECT_EQ(result_of(verdict, "memory").outcome, Outcome::incomplete);
    EXPECT_THAT(result_of(verdict, "memory").reason,
                HasSubstr(of_candidate ? "gpu_memory.csv of the candidate" : "gpu_memory.csv of the reference"));
  }
}

TEST(GpuMemory, AStepThatTheFileLacksOrHasTwiceFails) {
  expect_each_red({"completion"},
                  {{"lacks",
                    [](auto& cell) { cell.candidate.ranks[1].gpu_memory.pop_back(); },
                    {.step = 1, .item = "rank-1/gpu_memory.csv", .words = "no row of step 1"}},
                   {"twice",
                    [](auto& cell) {
                      auto& rows = cell.candidate.ranks[0].gpu_memory;
                      rows.push_back(rows.back());
                    },
                    {.step = 1, .item = "rank-0/gpu_memory.csv", .words = "a second row of the same key"}}},
                  on_gpus());
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

  const auto found = expect_red(cell, {"memory"});

  EXPECT_EQ(found.item, "requested_peak_bytes");
  const std::int64_t one = *cell.candidate.ranks[0].memory[1].peak_bytes,
                     other = *cell.candidate.ranks[1].memory[1].peak_bytes;
  EXPECT_EQ(found.expected, "at least " + std::to_string(one) + " and at most " + std::to_string(one + other));
}

TEST(GpuMemory, AProcessTakesNoLessThanEachOfItsRanks) {
  SyntheticCell cell(on_gpus("threads"));
  const std::int64_t most = *cell.candidate.ranks[0].memory[0].peak_bytes += 50;
  cell.candidate.ranks[0].gpu_memory[1].requested_peak_bytes = most - 1;  // the peak was in the step before

  const auto found = expect_red(cell, {"memory"});

  EXPECT_EQ(found.step, 1);
  EXPECT_THAT(found.expected, HasSubstr("at least " + std::to_string(most)));
}

TEST(GpuMemory, AKernelWithoutAClosedFormIsSaidAndNotPassedOver) {
  SyntheticCell cell(on_gpus());
  cell.reference.manifest["environment"]["attention"] = "not fixed";

  const auto memory = expect_outcome(cell, "memory", Outcome::holds);
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

  const auto memory = expect_outcome(cell, "memory", Outcome::holds);
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

TEST(GpuMemory, AnExternalRecordMayLackThePeakThatTheAllocatorsIsComparedWith) {
  for (const char* transport : {"mpi", "threads"}) {
    SyntheticCell cell(on_gpus(transport));
    cell.candidate.manifest["role"] = "external";
    cell.candidate.ranks[1].memory[1].peak_bytes.reset();

    const auto memory = expect_outcome(cell, "memory", Outcome::incomplete);
    EXPECT_THAT(memory.reason, HasSubstr("peak_bytes of the candidate"));
  }
}

TEST(GpuMemory, WhereARankLacksItsPeakAProcessIsHeldToNoSum) {
  SyntheticCell cell(on_gpus("threads"));
  cell.candidate.manifest["role"] = "external";
  cell.candidate.ranks[1].memory[1].peak_bytes.reset();
  cell.candidate.ranks[0].gpu_memory[1].requested_peak_bytes += 1 << 20;
  EXPECT_EQ(result_of(cell.judge(), "memory").outcome, Outcome::incomplete);

  SyntheticCell less(on_gpus("threads"));
  less.candidate.manifest["role"] = "external";
  less.candidate.ranks[1].memory[1].peak_bytes.reset();
  less.candidate.ranks[0].gpu_memory[1].requested_peak_bytes = *less.candidate.ranks[0].memory[1].peak_bytes - 1;
  expect_red(less, {"memory"},
             {.expected = "at least " + std::to_string(*less.candidate.ranks[0].memory[1].peak_bytes)});
}

TEST(GpuMemory, ThePeaksOfARunsThreadsAreThoseOfAllItsSteps) {
  SyntheticCell cell(on_gpus("threads"));
  cell.candidate.ranks[0].gpu_memory[0].requested_peak_bytes += 50;
  *cell.candidate.ranks[1].memory[1].peak_bytes += 50;

  EXPECT_EQ(result_of(cell.judge(), "memory").outcome, Outcome::holds) << "its count is not taken at the steps' ends";
}

}  // namespace
}  // namespace plumbline::testing
