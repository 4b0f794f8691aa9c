// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Memory, StateOtherThanTheShapesAndMoreActivationsThanTheModelFailInBothRecordsAtTheirPlace) {
  for (const bool of_candidate : {true, false}) {
    for (const auto& [column, more] : {std::pair{&MemoryRow::parameter_bytes, 4},
                                       {&MemoryRow::gradient_bytes, -4},
                                       {&MemoryRow::optimizer_bytes, 4},
                                       {&MemoryRow::activation_peak_bytes, 1}}) {
      SyntheticCell cell;
      RankRecord& rank = of_candidate ? cell.candidate.ranks[1] : cell.reference.ranks[0];
      *(rank.memory[1].*column) += more;

      const Finding found = expect_red(cell, {"memory"}, {.step = 1, .rank = rank.rank});

      EXPECT_EQ(found.words.starts_with("reference: "), !of_candidate) << found.words;
    }
  }
}

TEST(Memory, FewerActivationsThanTheModelHold) {
  SyntheticCell cell;
  *cell.candidate.ranks[1].memory[1].activation_peak_bytes -= 4;

  const auto memory = expect_outcome(cell, "memory", Outcome::holds);
  EXPECT_EQ(memory.compared.at("activation_peaks"), 3 * synthetic_steps);
  EXPECT_EQ(memory.compared.at("state_cells"), 3 * 2 * synthetic_steps);
}

TEST(Memory, VerdictCarriesWhatTheModelGivesEachRank) {
  SyntheticCell cell;
  std::vector<std::int64_t> peaks;
  for (const auto& rank : cell.candidate.ranks) peaks.push_back(rank.memory[0].activation_peak_bytes.value());

  const auto verdict = cell.judge();

  for (const auto& check : verdict.checks)
    EXPECT_EQ(check.predicted_peak_bytes, check.name == "memory" ? peaks : std::vector<std::int64_t>{}) << check.name;
}

/// Makes the candidate another program's, with so many bytes more of one column on each rank in every step.
void make_external(SyntheticCell& cell, std::optional<std::int64_t> MemoryRow::*column, std::int64_t more) {
  cell.candidate.manifest["role"] = "external";
  for (MemoryRow& row : cell.candidate.rows(&RankRecord::memory)) *(row.*column) += more;
}

TEST(Memory, AnExternalTrainersStepCountersAreAccepted) {
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

TEST(Memory, AnExternalTiedWeightMayBeKeptOnceOrTwice) {
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

TEST(Memory, AnOptimizerOfUnknownFormIsNamedAndWeightsAreStillJudged) {
  for (const bool wrong : {false, true}) {
    SyntheticCell cell;
    for (auto* run : {&cell.reference, &cell.candidate}) {
      run->manifest["role"] = "external";
      run->manifest["optimizer"] = {{"name", "lion"}, {"learning_rate", 0.001}, {"weight_decay", 0.1}};
    }
    if (wrong) *cell.candidate.ranks[0].memory[0].gradient_bytes += 4;

    const auto memory = result_of(cell.judge(), "memory");

    EXPECT_EQ(memory.first_divergence.value_or(Finding{}).item, wrong ? "gradient_bytes" : "");
    if (!wrong) {
      EXPECT_THAT(memory.reason, HasSubstr("optimizer_bytes of the candidate (its optimizer has no known form)"));
    }
  }
}

TEST(Memory, AnExternalReferenceMayRunInAnotherOrder) {
  SyntheticCell cell;
  cell.reference.manifest["role"] = "external";
  *cell.reference.ranks[0].memory[1].activation_peak_bytes += 400;

  EXPECT_THAT(with_outcome(cell.judge(), Outcome::differs), ::testing::IsEmpty());
}

TEST(Memory, MissingValuesAreNamedAndTheRestIsJudged) {
  const auto expect_lacks = [](SyntheticCell& cell, const std::string& what) {
    const auto verdict = cell.judge();
    const auto& memory = result_of(verdict, "memory");
    EXPECT_EQ(memory.outcome, Outcome::incomplete);
    EXPECT_THAT(memory.reason,
                AllOf(HasSubstr("the records lack"), HasSubstr(what), HasSubstr("the values that they have agree")));
    EXPECT_TRUE(verdict.holds);
  };
  for (const auto& [column, name] : {std::pair{&MemoryRow::parameter_bytes, "parameter_bytes of the candidate"},
                                     {&MemoryRow::gradient_bytes, "gradient_bytes of the candidate"},
                                     {&MemoryRow::optimizer_bytes, "optimizer_bytes of the candidate"},
                                     {&MemoryRow::activation_peak_bytes, "activation_peak_bytes"}}) {
    SyntheticCell cell;
    cell.candidate.manifest["role"] = "external";
    (cell.candidate.ranks[1].memory[1].*column).reset();
    expect_lacks(cell, name);
  }
  SyntheticCell no_list;
  no_list.candidate.manifest["role"] = "external";
  no_list.candidate.schedule_csv.clear();
  no_list.candidate.manifest["schedule"]["digest"] = nullptr;
  expect_lacks(no_list, "a schedule.csv that can be followed");
}

TEST(Memory, RecordsWithoutMemoryAreNotSaidToAgree) {
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

TEST(Memory, ChangingShapesOmitTheActivationModel) {
  SyntheticCell cell;
  for (RankRecord& rank : cell.all_ranks()) rank.microbatches.at(synthetic_microbatches + 1).sequence_length = 2;

  const auto memory = expect_outcome(cell, "memory", Outcome::incomplete);
  EXPECT_THAT(memory.reason, HasSubstr("equal shapes in all steps (saved.csv is of one step)"));
}

}  // namespace
}  // namespace plumbline::testing
