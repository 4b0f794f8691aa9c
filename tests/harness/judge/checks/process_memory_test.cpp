// memory: what the ranks' processes lose from step to step.
#include <gmock/gmock.h>

#include "tests/harness/judge/checks/expect_memory_red.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t mebibyte = 1 << 20;

SyntheticPlan of_steps(std::int64_t steps) {
  SyntheticPlan plan;
  plan.steps = steps;
  return plan;
}

/// Rank 1's process grows by so many bytes in each step after the first; malloc has nothing free.
void grow(SyntheticCell& cell, const std::vector<std::int64_t>& growths) {
  auto& rows = cell.candidate.ranks[1].memory;
  ASSERT_EQ(rows.size(), growths.size() + 1);
  std::int64_t bytes = 90 * mebibyte + *rows[0].live_bytes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0) bytes += growths[i - 1] + *rows[i].live_bytes - *rows[i - 1].live_bytes;
    rows[i].process_private_bytes = bytes;
    rows[i].heap_free_bytes = 0;
  }
}

CheckResult memory_of(const std::vector<std::int64_t>& growths) {
  SyntheticCell cell(of_steps(static_cast<std::int64_t>(growths.size()) + 1));
  grow(cell, growths);
  return result_of(cell.judge(), "memory");
}

TEST(ProcessMemory, GrowthOf64MebibytesAStepIsTheLimit) {
  EXPECT_EQ(memory_of({64 * mebibyte}).outcome, Outcome::holds);
  EXPECT_EQ(memory_of({64 * mebibyte + 1}).outcome, Outcome::fails);
  EXPECT_EQ(memory_of({64 * mebibyte + 1, 64 * mebibyte + 1, 64 * mebibyte}).outcome, Outcome::fails);
  EXPECT_EQ(memory_of({500 * mebibyte, 0, 0}).outcome, Outcome::holds) << "a library's buffers, once";
}

TEST(ProcessMemory, ALeakNamesTheRankAndItsFirstStep) {
  SyntheticCell cell(of_steps(4));
  grow(cell, {0, 65 * mebibyte, 65 * mebibyte});

  const auto found = expect_memory_red(cell);

  EXPECT_EQ(found.item, "private memory");
  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.step, 2);
  EXPECT_EQ(found.got, std::to_string(65 * mebibyte));
}

TEST(ProcessMemory, WhatMallocHasFreeIsNoLeak) {
  SyntheticCell cell(of_steps(3));
  grow(cell, {80 * mebibyte, 80 * mebibyte});
  auto& rows = cell.candidate.ranks[1].memory;
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].heap_free_bytes = static_cast<std::int64_t>(i) * 80 * mebibyte;

  EXPECT_EQ(result_of(cell.judge(), "memory").outcome, Outcome::holds);
}

TEST(ProcessMemory, PrivateMemoryIsMeasured) {
  const auto memory = memory_of({0});

  EXPECT_THAT(memory.measured, HasSubstr("private memory of a process at most "));
  EXPECT_EQ(memory.compared.at("process_growths"), 2);
}

/// Why the growth is not judged, in the list of what was left out.
std::string left_out(SyntheticCell& cell) {
  const auto memory = result_of(cell.judge(), "memory");
  EXPECT_FALSE(memory.compared.contains("process_growths"));
  const auto at = memory.reason.find("growth of the processes' private memory (");
  return at == std::string::npos ? "" : memory.reason.substr(at);
}

TEST(ProcessMemory, ProcessesThatCannotBeJudgedAreLeftOut) {
  SyntheticPlan threads, gpus;
  threads.transport = "threads";
  gpus.device = "cuda";
  SyntheticCell one_process(threads), on_gpus(gpus), sanitized, external, nccl;
  sanitized.candidate.manifest["environment"]["sanitizer"] = "address";
  external.candidate.manifest["role"] = "external";
  nccl.candidate.manifest["transport"] = "nccl";

  EXPECT_THAT(left_out(one_process), HasSubstr("threads of one process"));
  EXPECT_THAT(left_out(on_gpus), HasSubstr("a GPU's driver"));
  EXPECT_THAT(left_out(sanitized), HasSubstr("a sanitizer"));
  EXPECT_THAT(left_out(external), HasSubstr("another program's"));
  EXPECT_THAT(left_out(nccl), HasSubstr("ranks over nccl may share a process"));
}

}  // namespace
}  // namespace plumbline::testing
