// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <regex>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Memory, OneKeptTensorIsFoundAtItsAction) {
  SyntheticCell cell;
  for (auto& row : cell.candidate.ranks[0].actions) {
    if (row.step == 1 && row.index >= action_row(cell.candidate, 1, "0F2").index) *row.peak_bytes += 64;
  }

  const auto found = expect_red(cell, {"memory"}, {.step = 1, .rank = 0, .item = "0F2", .words = ", +64"});
  EXPECT_THAT(found.words, HasSubstr("layers.0"));
}

TEST(Memory, EachWayInWhichBytesAreWrongIsTold) {
  expect_each_red({"memory"}, {{"fewer than predicted",
                                [](auto& cell) { *action_row(cell.candidate, 0, "1B3").peak_bytes -= 4; },
                                {.item = "1B3", .words = ", -4"}},
                               {"a peak of the step that is not the largest of its actions",
                                [](auto& cell) { *cell.candidate.ranks[1].memory[0].activation_peak_bytes += 1; },
                                {.item = "activation_peak_bytes"}},
                               {"a step that ends with more than the first",
                                [](auto& cell) { *cell.candidate.ranks[1].memory[1].live_bytes += 4; },
                                {.step = 1, .rank = 1, .item = "live_bytes"}},
                               {"a step that ends with less, owners and sums agreeing, so that no other rule sees it",
                                [](auto& cell) {
                                  MemoryRow& row = cell.candidate.ranks[1].memory[1];
                                  *row.other_bytes -= 3, *row.live_bytes -= 3, *row.peak_bytes -= 3;
                                },
                                {.item = "live_bytes"}},
                               {"a reference that leaks",
                                [](auto& cell) { *cell.reference.ranks[0].memory[1].live_bytes -= 4; },
                                {.item = "live_bytes"}},
                               {"a reference that leaks, against its closed form",
                                [](auto& cell) {
                                  for (auto& row : cell.reference.ranks[0].saved) {
                                    if (row.microbatch == 2 && row.unit == "layers.1") row.saved_bytes += 64;
                                  }
                                },
                                {.microbatch = 2, .item = "layers.1", .words = "closed form"}},
                               {"the whole model on a rank",
                                [](auto& cell) {
                                  for (auto& row : cell.candidate.ranks[0].memory)
                                    row.parameter_bytes = cell.reference.ranks[0].memory[0].parameter_bytes;
                                },
                                {.rank = 0, .item = "parameter_bytes"}},
                               {"buffers beyond every message in flight",
                                [](auto& cell) { cell.candidate.ranks[1].memory[1].buffer_bytes = 100000; },
                                {.item = "buffer_bytes"}},
                               {"an action without its peak",
                                [](auto& cell) { action_row(cell.candidate, 1, "1F2").peak_bytes.reset(); },
                                {.item = "1F2", .got = "absent"}}});
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

TEST(Memory, ASplitBackwardThatNobodyMeasuredIsHeldToUpperLimitsAndThatIsSaid) {
  SyntheticCell cell({.schedule = "zb-h1"});
  ASSERT_FALSE(cell.reference.ranks[0].saved[0].input_bytes);

  EXPECT_THAT(result_of(cell.judge(), "memory").reason, HasSubstr("whether split backward passes keep less"));

  SyntheticCell whole;
  EXPECT_THAT(result_of(whole.judge(), "memory").reason, ::testing::Not(HasSubstr("split backward")));
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

TEST(Memory, BuffersAtWorldSizeOne) {
  SyntheticCell cell(one_stage());
  cell.candidate.ranks[0].memory[0].buffer_bytes = 1;
  expect_red(cell, {"memory"}, {.expected = "at most 0"});
}

/// Makes the candidate another program's, with so many bytes more of one column on each rank in every step.
void make_external(SyntheticCell& cell, std::optional<std::int64_t> MemoryRow::*column, std::int64_t more) {
  cell.candidate.manifest["role"] = "external";
  for (MemoryRow& row : cell.candidate.rows(&RankRecord::memory)) *(row.*column) += more, *row.live_bytes += more;
}

TEST(Memory, AnothersStepCountersAreItsOwn) {
  // Two ranks with at least 10 parameters each: no counters at all, ours of 4 bytes, and 8 bytes each.
  for (const std::int64_t more : {-40, 0, 40}) {
    SyntheticCell cell;
    make_external(cell, &MemoryRow::optimizer_bytes, more);
    expect_outcome(cell, "memory", Outcome::holds);
  }
  for (const std::int64_t more : {-200, 200}) {
    SyntheticCell cell;
    make_external(cell, &MemoryRow::optimizer_bytes, more);
    EXPECT_EQ(expect_red(cell, {"memory"}).item, "optimizer_bytes") << more;
  }
}

TEST(Memory, AnothersTiedWeightOnOneRankMayBeKeptOnceOrTwice) {
  constexpr std::int64_t weight = 8 * 4 * 4;
  for (const auto& [column, more] : {std::pair{&MemoryRow::parameter_bytes, weight},
                                     {&MemoryRow::gradient_bytes, -weight},
                                     {&MemoryRow::optimizer_bytes, 2 * weight}}) {
    SyntheticCell right(one_stage()), wrong(one_stage());
    make_external(right, column, more);
    make_external(wrong, column, more > 0 ? more + 200 : more - 200);

    expect_outcome(right, "memory", Outcome::holds);
    expect_red(wrong, {"memory"});
  }
}

TEST(Memory, AnothersOptimiserOfUnknownFormIsToldAndItsWeightsStillJudged) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    run->manifest["role"] = "external";
    run->manifest["optimizer"] = {{"name", "lion"}, {"learning_rate", 0.001}, {"weight_decay", 0.1}};
  }
  const auto memory = result_of(cell.judge(), "memory");
  EXPECT_THAT(memory.reason, HasSubstr("optimizer_bytes of the candidate (its optimiser has no known form)"));

  *cell.candidate.ranks[0].memory[0].gradient_bytes += 4;
  SyntheticCell again;
  again.reference = cell.reference;
  again.candidate = cell.candidate;
  EXPECT_EQ(result_of(again.judge(), "memory").first_divergence.value().item, "gradient_bytes");
}

/// The largest that the list lets a rank's buffers be, as the check tells it.
std::int64_t buffer_bound_told(bool tied) {
  SyntheticCell cell({.tied = tied});
  const std::string measured = result_of(cell.judge(), "memory").measured;
  std::smatch found;
  EXPECT_TRUE(std::regex_search(measured, found, std::regex("transport buffers at most [0-9]+ of ([0-9]+) bytes")));
  return std::stoll(found[1]);
}

TEST(Memory, BuffersOfOneByteBeyondTheBound) {
  SyntheticCell cell;
  for (auto& rank : cell.candidate.ranks) rank.memory[1].buffer_bytes = buffer_bound_told(true) + 1;
  EXPECT_THAT(result_of(cell.judge(), "memory").reason, HasSubstr("exceed all messages"));
}

TEST(Memory, ReduceHoldsTheTiedGradientThatComesInAndTheOneThatGoesOut) {
  const std::int64_t activations = 13 * 4 * 4;  // of all microbatches, which REDUCE does not wait for
  EXPECT_EQ(buffer_bound_told(true), activations + 2 * 8 * 4 * 4);
}

TEST(Memory, ActionsAreTakenInTheOrderOfTheirIndex) {
  SyntheticCell cell;
  auto& rows = cell.candidate.ranks[0].actions;
  std::swap(rows[0], rows[3]);

  const auto memory = expect_outcome(cell, "memory", Outcome::holds);
  EXPECT_EQ(memory.compared.at("actions"), 3 * 2 * synthetic_microbatches * synthetic_steps)
      << "F and B on each rank of both runs";
  EXPECT_EQ(memory.compared.at("activation_peaks"), 3 * synthetic_steps);
}

TEST(Memory, AnExternalRecordMayLackPeaksAndIsHeldToThoseThatItHas) {
  SyntheticCell actions, step, wrong;
  for (SyntheticCell* cell : {&actions, &step, &wrong}) cell->candidate.manifest["role"] = "external";
  action_row(actions.candidate, 1, "1F2").peak_bytes.reset();
  step.candidate.ranks[1].memory[1].activation_peak_bytes.reset();
  action_row(wrong.candidate, 0, "1F2").peak_bytes.reset();
  *action_row(wrong.candidate, 1, "1F2").peak_bytes += 4;

  for (SyntheticCell* cell : {&actions, &step}) {
    const auto verdict = cell->judge();
    EXPECT_EQ(result_of(verdict, "memory").outcome, Outcome::incomplete);
    EXPECT_THAT(result_of(verdict, "memory").reason, HasSubstr("lack peak_bytes or activation_peak_bytes"));
    EXPECT_FALSE(result_of(verdict, "memory").required);
  }
  expect_red(wrong, {"memory"}, {.item = "1F2"});
}

TEST(Memory, AnExternalRecordWithoutAListIsNotHeldToTheLaw) {
  SyntheticCell cell;
  cell.candidate.manifest["role"] = "external";
  cell.candidate.schedule_csv.clear();
  cell.candidate.manifest["schedule"]["digest"] = nullptr;

  EXPECT_THAT(result_of(cell.judge(), "memory").reason, HasSubstr("lack a schedule.csv that can be followed"));
}

TEST(Memory, TheReferencesOwnActionsAreHeldToTheLaw) {
  SyntheticCell action, step;
  *action_row(action.reference, 1, "0B2").peak_bytes += 4;
  *step.reference.ranks[0].memory[1].activation_peak_bytes -= 4;

  const auto found = expect_red(action, {"memory"}, {.step = 1, .item = "0B2"});
  EXPECT_THAT(found.words, ::testing::StartsWith("reference: step 1, rank 0, action 0B2"));
  EXPECT_THAT(expect_red(step, {"memory"}).words,
              ::testing::StartsWith("reference: step 1, rank 0, activation_peak_bytes"));
}

TEST(Memory, AnExternalReferenceMayRunInAnotherOrder) {
  SyntheticCell cell;
  cell.reference.manifest["role"] = "external";
  *action_row(cell.reference, 1, "0B2").peak_bytes += 4;

  EXPECT_THAT(with_outcome(cell.judge(), Outcome::differs), ::testing::IsEmpty());
}

TEST(Memory, ShapesThatChangeFromStepToStepLeaveTheLawOut) {
  SyntheticCell cell;
  for (RankRecord& rank : cell.all_ranks()) rank.microbatches.at(synthetic_microbatches + 1).sequence_length = 2;

  const auto memory = expect_outcome(cell, "memory", Outcome::incomplete);
  EXPECT_THAT(memory.reason, HasSubstr("equal shapes in all steps (saved.csv is of one step)"));
}

TEST(Memory, ALayerThatIsComputedAgainKeepsItsInputAlone) {
  for (const bool right : {true, false}) {
    SyntheticCell cell;
    for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["recompute"] = "layer";
    for (auto& row : cell.reference.ranks[0].saved) {
      const std::int64_t positions =
          cell.reference.ranks[0].microbatches.at(static_cast<std::size_t>(row.microbatch)).tokens;
      if (row.unit.starts_with("layers.")) row.saved_bytes = positions * 4 * 4;
      if (!right && row.unit == "layers.1" && row.microbatch == 2) row.saved_bytes += 4;
    }

    const auto found = expect_fails(cell, "memory");
    EXPECT_EQ(found.item == "layers.1", !right) << "else it is the actions, which were not made so";
    if (right) continue;
    EXPECT_EQ(found.expected, std::to_string(4 * 4 * 4));
    expect_finding(found, {.step = 0, .microbatch = 2, .got = std::to_string(4 * 4 * 4 + 4)});
  }
}

TEST(Memory, AnExternalRecordMayLackBuffersAndState) {
  for (auto column : {&MemoryRow::parameter_bytes, &MemoryRow::gradient_bytes, &MemoryRow::optimizer_bytes,
                      &MemoryRow::buffer_bytes, &MemoryRow::live_bytes}) {
    SyntheticCell cell;
    cell.candidate.manifest["role"] = "external";
    (cell.candidate.ranks[1].memory[1].*column).reset();
    const std::string name = column == &MemoryRow::parameter_bytes   ? "parameter_bytes of the candidate"
                             : column == &MemoryRow::gradient_bytes  ? "gradient_bytes of the candidate"
                             : column == &MemoryRow::optimizer_bytes ? "optimizer_bytes of the candidate"
                             : column == &MemoryRow::buffer_bytes    ? "buffer_bytes"
                                                                     : "live_bytes of the candidate";

    const auto verdict = cell.judge();

    EXPECT_EQ(result_of(verdict, "memory").outcome, Outcome::incomplete);
    EXPECT_FALSE(result_of(verdict, "memory").required);
    EXPECT_THAT(result_of(verdict, "memory").reason, HasSubstr("the records lack " + name + "; what they have agrees"));
    EXPECT_TRUE(verdict.holds);
  }
}

TEST(Memory, OfRecordsThatHaveNothingNothingIsSaidToAgree) {
  SyntheticCell cell;
  for (SyntheticRun* run : {&cell.reference, &cell.candidate}) run->manifest["role"] = "external";
  for (MemoryRow& row : cell.rows(&RankRecord::memory)) {
    const std::int64_t step = row.step;
    row = MemoryRow{};
    row.step = step;
  }

  const auto memory = expect_outcome(cell, "memory", Outcome::incomplete);
  EXPECT_THAT(memory.reason, AllOf(HasSubstr("the records lack"), Not(HasSubstr("agrees"))));
}

TEST(Memory, BuffersUpToTheBoundHoldAndTheLargestIsTold) {
  const std::int64_t bound = buffer_bound_told(true);
  SyntheticCell cell;
  cell.candidate.ranks[0].memory[0].buffer_bytes = bound;

  const auto memory = expect_outcome(cell, "memory", Outcome::holds);
  EXPECT_THAT(memory.measured,
              HasSubstr("transport buffers at most " + std::to_string(bound) + " of " + std::to_string(bound)));
}

TEST(Memory, OfASplitBackwardThatNobodyMeasuredLessIsRightAndMoreIsNot) {
  const auto judged = [&](const std::string& action, std::int64_t more) {
    SyntheticCell cell({.schedule = "zb-h1"});
    *action_row(cell.candidate, 1, action).peak_bytes += more;
    return result_of(cell.judge(), "memory");
  };

  EXPECT_EQ(judged("1I2", -4).outcome, Outcome::holds);
  EXPECT_EQ(judged("1I2", 1 << 20).first_divergence.value().item, "1I2");
  EXPECT_EQ(judged("1F0", -4).first_divergence.value().item, "1F0") << "before it nothing is open";
}

TEST(Memory, OfASplitBackwardThePeakOfTheStepIsAnUpperLimitToo) {
  for (const std::int64_t more : {-4, 1 << 20}) {
    SyntheticCell cell({.schedule = "zb-h1"});
    MemoryRow& row = cell.candidate.ranks[1].memory[1];
    *row.activation_peak_bytes += more;
    *row.peak_bytes += more;

    const auto memory = expect_outcome(cell, "memory", more < 0 ? Outcome::holds : Outcome::differs);
    if (more > 0) {
      EXPECT_EQ(memory.first_divergence.value().item, "activation_peak_bytes");
    }
  }
}

TEST(Memory, AnActionThatIsNotWhereTheListHasItIsComparedWithNothing) {
  SyntheticCell cell;
  ActionRow &one = action_row(cell.candidate, 1, "0F1"), &other = action_row(cell.candidate, 1, "0F2");
  std::swap(one.action, other.action);
  std::swap(one.microbatch, other.microbatch);

  const Finding found = expect_fails(cell, "memory", {.item = "actions"});
  EXPECT_EQ(found.expected, "at least 60") << "10 of each rank of both runs in each step";
  EXPECT_EQ(found.got, "51") << "of that step on that rank the first alone";
}

}  // namespace
}  // namespace plumbline::testing
