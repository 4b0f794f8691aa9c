#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

FirstDivergence expect_memory_red(SyntheticCell& cell) {
  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("memory"));
  return verdict.first_divergence.value_or(FirstDivergence{});
}

TEST(Memory, OneKeptTensorIsFoundAtItsAction) {
  SyntheticCell cell;
  for (auto& row : cell.candidate.ranks[0].actions) {
    if (row.step == 1 && row.index >= action_row(cell.candidate, 1, "0F2").index) *row.peak_bytes += 64;
  }

  const auto found = expect_memory_red(cell);

  EXPECT_EQ(found.item, "0F2");
  EXPECT_EQ(found.step, 1);
  EXPECT_EQ(found.rank, 0);
  EXPECT_THAT(found.words, HasSubstr("(+64)"));
  EXPECT_THAT(found.words, HasSubstr("layers.0"));
}

TEST(Memory, FewerBytesThanPredictedFailToo) {
  SyntheticCell cell;
  *action_row(cell.candidate, 0, "1B3").peak_bytes -= 4;
  EXPECT_EQ(expect_memory_red(cell).item, "1B3");
}

TEST(Memory, PeakOfTheStepIsTheLargestOfItsActions) {
  SyntheticCell cell;
  *cell.candidate.ranks[1].memory[0].activation_peak_bytes += 1;
  EXPECT_EQ(expect_memory_red(cell).item, "activation_peak_bytes");
}

TEST(Memory, AStepThatEndsWithMoreThanTheFirstIsALeak) {
  SyntheticCell cell;
  *cell.candidate.ranks[1].memory[1].live_bytes += 4;

  const auto found = expect_memory_red(cell);

  EXPECT_EQ(found.item, "live_bytes");
  EXPECT_EQ(found.step, 1);
  EXPECT_EQ(found.rank, 1);
}

TEST(Memory, AReferenceThatLeaksIsNoReference) {
  SyntheticCell cell;
  *cell.reference.ranks[0].memory[1].live_bytes -= 4;
  EXPECT_EQ(expect_memory_red(cell).item, "live_bytes");
}

TEST(Memory, VerdictCarriesWhatTheLawGivesEachRank) {
  SyntheticCell cell;
  std::vector<std::int64_t> peaks;
  for (const auto& rank : cell.candidate.ranks) peaks.push_back(rank.memory[0].activation_peak_bytes.value());

  const auto verdict = cell.judge();

  for (const auto& check : verdict.checks) {
    EXPECT_EQ(check.predicted_peak_bytes, check.name == "memory" ? peaks : std::vector<std::int64_t>{}) << check.name;
  }
}

TEST(Memory, ReferenceThatLeaksIsSeenAgainstItsClosedForm) {
  SyntheticCell cell;
  for (auto& row : cell.reference.ranks[0].saved) {
    if (row.microbatch == 2 && row.unit == "layers.1") row.saved_bytes += 64;
  }

  const auto found = expect_memory_red(cell);

  EXPECT_EQ(found.item, "layers.1");
  EXPECT_EQ(found.microbatch, 2);
  EXPECT_THAT(found.words, HasSubstr("closed form"));
}

TEST(Memory, WholeModelOnARank) {
  SyntheticCell cell;
  for (auto& row : cell.candidate.ranks[0].memory)
    row.parameter_bytes = cell.reference.ranks[0].memory[0].parameter_bytes;

  const auto found = expect_memory_red(cell);

  EXPECT_EQ(found.item, "parameter_bytes");
  EXPECT_EQ(found.rank, 0);
}

TEST(Memory, SumOverTheRanksIsTheReferencePlusTheTiedCopy) {
  SyntheticCell cell;

  const auto sum = [](const SyntheticRun& run, std::optional<std::int64_t> MemoryRow::*column) {
    std::int64_t total = 0;
    for (const auto& rank : run.ranks) total += *(rank.memory[0].*column);
    return total;
  };

  // V H s = 8 x 4 x 4 bytes; AdamW keeps two moments and a step count of it
  EXPECT_EQ(sum(cell.candidate, &MemoryRow::parameter_bytes) - sum(cell.reference, &MemoryRow::parameter_bytes), 128);
  EXPECT_EQ(sum(cell.candidate, &MemoryRow::gradient_bytes) - sum(cell.reference, &MemoryRow::gradient_bytes), 0);
  EXPECT_EQ(sum(cell.candidate, &MemoryRow::optimizer_bytes) - sum(cell.reference, &MemoryRow::optimizer_bytes), 260);
  EXPECT_TRUE(cell.judge().holds);
}

TEST(Memory, BuffersBeyondEveryMessageInFlight) {
  SyntheticCell cell;
  cell.candidate.ranks[1].memory[1].buffer_bytes = 100000;
  EXPECT_EQ(expect_memory_red(cell).item, "buffer_bytes");
}

TEST(Memory, BuffersAtWorldSizeOne) {
  SyntheticCell cell(one_stage());
  cell.candidate.ranks[0].memory[0].buffer_bytes = 1;
  EXPECT_EQ(expect_memory_red(cell).expected, "at most 0");
}

class ProcessMemory : public ::testing::Test {
 protected:
  ProcessMemory() {
    cell.plan.process_memory_limit = 0.6;
    cell.plan.launch = LaunchFinding{};
    cell.plan.reference_launch = LaunchFinding{};
    cell.plan.reference_launch->process_peak_bytes = {1000};
    cell.plan.launch->process_peak_bytes = {300, 450};
  }
  SyntheticCell cell;
};

TEST_F(ProcessMemory, WithinItsShareHoldsWithItsMargin) {
  const auto verdict = cell.judge();

  EXPECT_TRUE(verdict.holds);
  EXPECT_DOUBLE_EQ(result_of(verdict, "memory").margin.value_or(0), 0.75);
}

TEST_F(ProcessMemory, AboveItsShareFailsAndNamesTheRank) {
  cell.plan.launch->process_peak_bytes = {300, 601};

  const auto found = expect_memory_red(cell);

  EXPECT_EQ(found.item, "VmHWM");
  EXPECT_EQ(found.rank, 1);
}

TEST_F(ProcessMemory, NotReadIsNotRun) {
  cell.plan.launch->process_peak_bytes.clear();

  const auto verdict = cell.judge();

  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(result_of(verdict, "memory").outcome, Outcome::not_run);
  EXPECT_THAT(result_of(verdict, "memory").reason, HasSubstr("VmHWM"));
}

}  // namespace
}  // namespace plumbline::testing
