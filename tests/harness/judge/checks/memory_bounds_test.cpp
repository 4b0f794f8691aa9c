#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;

/// The memory check fails at this item, told of this record.
void expect_bound(const std::function<void(MemoryRow&)>& change, const std::string& item) {
  for (const bool of_candidate : {false, true}) {
    SyntheticCell cell;
    change((of_candidate ? cell.candidate : cell.reference).ranks[0].memory[1]);

    const auto verdict = cell.judge();

    EXPECT_THAT(with_outcome(verdict, Outcome::fails), Contains("memory"));
    const auto& found = result_of(verdict, "memory").first_divergence;
    ASSERT_TRUE(found);
    EXPECT_EQ(found->item, item);
    EXPECT_EQ(found->step, 1);
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

  EXPECT_EQ(expect_red(cell, {"memory"}, "buffer_bytes", 1).got, "4");
}

}  // namespace
}  // namespace plumbline::testing
