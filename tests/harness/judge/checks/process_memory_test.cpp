// SPDX-License-Identifier: BSD-3-Clause
// memory: leaks of the ranks' processes.
#include "harness/judge/checks/process_memory.hpp"

#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using judging::ProcessGrowth;
using ::testing::HasSubstr;

constexpr std::int64_t mebibyte = 1 << 20;

ProcessGrowth growth_of(const std::vector<std::int64_t>& growths) {
  ProcessGrowth growth;
  MemoryRow row;
  row.process_private_bytes = 90 * mebibyte;
  row.heap_free_bytes = row.live_bytes = 0;
  growth.step(row);
  for (const std::int64_t each : growths) {
    ++row.step;
    *row.process_private_bytes += each;
    growth.step(row);
  }
  return growth;
}

TEST(ProcessGrowth, IsTheMedianOverTheSteps) {
  EXPECT_EQ(growth_of({500 * mebibyte, 0, 0}).median(), 0) << "a library's buffers, once";
  EXPECT_EQ(growth_of({500 * mebibyte, 0}).median(), 0);
  const ProcessGrowth leak = growth_of({0, 65 * mebibyte, 65 * mebibyte});
  EXPECT_EQ(leak.median(), 65 * mebibyte);
  EXPECT_EQ(leak.first_beyond(), 2);
  EXPECT_FALSE(growth_of({}).measured());
}

/// Rank 1's process grows by so much in the second of two steps; malloc has nothing free.
void grow(SyntheticCell& cell, std::int64_t growth) {
  auto& rows = cell.candidate.ranks[1].memory;
  for (std::size_t i = 0; i < 2; ++i) {
    rows[i].process_private_bytes = 90 * mebibyte + *rows[i].live_bytes + (i == 1 ? growth : 0);
    rows[i].heap_free_bytes = 0;
  }
}

TEST(ProcessMemory, GrowthOf64MebibytesAStepIsTheLimit) {
  SyntheticCell at_limit, beyond;
  grow(at_limit, 64 * mebibyte);
  grow(beyond, 64 * mebibyte + 1);

  EXPECT_EQ(result_of(at_limit.judge(), "memory").outcome, Outcome::holds);
  expect_red(beyond, {"memory"},
             {.step = 1, .rank = 1, .item = "private memory", .got = std::to_string(64 * mebibyte + 1)});
}

TEST(ProcessMemory, WhatMallocHasFreeIsNoLeak) {
  SyntheticCell cell;
  grow(cell, 80 * mebibyte);
  cell.candidate.ranks[1].memory[1].heap_free_bytes = 80 * mebibyte;

  EXPECT_EQ(result_of(cell.judge(), "memory").outcome, Outcome::holds);
}

TEST(ProcessMemory, PrivateMemoryIsMeasured) {
  SyntheticCell cell;
  const auto memory = result_of(cell.judge(), "memory");

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
  SyntheticCell one_process({.transport = "threads"}), on_gpus({.device = "cuda"}), sanitized, external, nccl;
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
