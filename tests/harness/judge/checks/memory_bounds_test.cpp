// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// The memory check fails at this item, told of this record.
void expect_bound(const std::function<void(MemoryRow&)>& change, const std::string& item) {
  for (const bool of_candidate : {false, true}) {
    SyntheticCell cell;
    change((of_candidate ? cell.candidate : cell.reference).ranks.back().memory[1]);

    const auto verdict = cell.judge();

    EXPECT_THAT(with_outcome(verdict, Outcome::differs), Contains("memory"));
    const auto& found = result_of(verdict, "memory").first_divergence;
    ASSERT_TRUE(found);
    expect_finding(*found, {.step = 1, .rank = of_candidate ? 1 : 0, .item = item});
    EXPECT_TRUE(found->words.find(of_candidate ? "candidate" : "reference") != std::string::npos) << found->words;
  }
}

TEST(MemoryBounds, ThePeakIsNoLessThanTheModelState) {
  expect_bound([](MemoryRow& row) { row.peak_bytes = *row.parameter_bytes; }, "peak_bytes");
}

TEST(MemoryBounds, ThePeakIsNoLessThanWhatIsAliveAtTheEnd) {
  expect_bound([](MemoryRow& row) { row.peak_bytes = *row.live_bytes - 1; }, "peak_bytes");
}

TEST(MemoryBounds, WhatIsAliveAtTheEndIsNoLessThanTheModelState) {
  expect_bound([](MemoryRow& row) { row.live_bytes = *row.parameter_bytes; }, "live_bytes");
}

TEST(MemoryBounds, APeakOfAProcessMayFallByWhatLinuxRounds) {
  SyntheticCell cell;
  *cell.candidate.ranks[0].memory[1].process_peak_bytes -= 1;

  EXPECT_EQ(result_of(cell.judge(), "memory").outcome, Outcome::holds);
}

TEST(MemoryBounds, OneDeviceHasNoTransportBuffers) {
  SyntheticCell cell;
  cell.reference.ranks[0].memory[1].buffer_bytes = 4;

  expect_red(cell, {"memory"}, {.step = 1, .item = "buffer_bytes", .got = "4"});
}

TEST(MemoryBounds, ThePeakIsNoLessThanTablesAndTheLargerOfActivationsAndOtherBytes) {
  for (const std::int64_t less : {0, 1}) {
    SyntheticCell cell({.device = "cuda"});  // whose workspaces are larger than these activations
    RankRecord& rank = cell.candidate.ranks[1];
    MemoryRow& row = rank.memory[1];
    ASSERT_GT(*row.other_peak_bytes, *row.activation_peak_bytes);
    row.peak_bytes = *row.parameter_bytes + *row.gradient_bytes + *row.optimizer_bytes + *row.table_bytes +
                     *row.other_peak_bytes - less;
    rank.gpu_memory[1].requested_peak_bytes = *row.peak_bytes;

    const auto memory = expect_outcome(cell, "memory", less ? Outcome::differs : Outcome::holds);
    if (less) {
      EXPECT_THAT(memory.reason, HasSubstr("candidate: step 1, rank 1, peak_bytes: less than model state, tables and "
                                           "the larger of activation_peak_bytes and other_peak_bytes"));
    }
  }
}

TEST(MemoryBounds, AnExternalTrainersPeakIsNoLessThanValuesAndActivations) {
  for (const std::int64_t less : {0, 1}) {
    SyntheticCell cell;
    cell.candidate.manifest["role"] = "external";
    MemoryRow& row = cell.candidate.ranks[0].memory[1];
    row.peak_bytes = *row.parameter_bytes + *row.gradient_bytes + *row.activation_peak_bytes - less;
    ASSERT_GT(*row.peak_bytes, *row.live_bytes);

    const auto memory = expect_outcome(cell, "memory", less ? Outcome::differs : Outcome::holds);
    if (less) {
      EXPECT_THAT(memory.reason, HasSubstr("less than parameters, gradients and the activations' peak"));
    }
  }
}

}  // namespace
}  // namespace plumbline::testing
