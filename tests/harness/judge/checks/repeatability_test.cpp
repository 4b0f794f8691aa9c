// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Repeatability : public ::testing::Test {
 protected:
  Repeatability() {
    cell.plan.repeat = true;
    cell.repeated = synthetic_candidate({});
    for (auto& rank : cell.repeated->ranks) {
      for (auto& row : rank.actions) row.end_ns += 1;  // time is not what has to repeat
    }
  }
  SyntheticCell cell;
};

TEST_F(Repeatability, HoldsForASecondRunOfTheSameBits) {
  const auto verdict = cell.judge();

  EXPECT_TRUE(verdict.holds);
  EXPECT_EQ(result_of(verdict, "repeatability").outcome, Outcome::holds);
}

TEST_F(Repeatability, FailsForOneOtherMomentAndForAnotherFigureOfAStep) {
  tensor_row(*cell.repeated, 1, "moment1", "model.norm.weight").digest = other_digest;
  expect_finding(expect_red(cell, {"repeatability"}, "moment1 model.norm.weight", 1), {.level = "R0"});

  SyntheticCell of_figures;
  of_figures.plan.repeat = true;
  of_figures.repeated = synthetic_candidate({});
  for (auto& rank : of_figures.repeated->ranks) {
    for (auto& row : rank.actions) row.end_ns += 1;
    rank.steps.at(1).learning_rate = 0.25;
  }
  expect_finding(expect_red(of_figures, {"repeatability"}, "learning_rate", 1), {.got = "0.25"});
}

TEST_F(Repeatability, FailsForAnotherEvaluation) {
  const auto evaluate = [](SyntheticRun& run) {
    run.manifest["evaluation"] = {{"every", 1}, {"microbatches", 1}};
    for (const std::int64_t step : {0, 1}) {
      run.ranks.back().evaluation.push_back({step, 0, 8, 8, 1.5F, std::string(32, 'a')});
      run.ranks.back().evaluation.push_back({step, {}, 8, 8, 1.5F, ""});
    }
  };
  const auto expect_red = [&](std::size_t row, float loss, const std::string& digest, const std::string& item) {
    SyntheticCell evaluated;
    evaluated.plan.repeat = true;
    evaluated.repeated = cell.repeated;
    for (SyntheticRun* run : {&evaluated.reference, &evaluated.candidate, &*evaluated.repeated}) evaluate(*run);
    evaluated.repeated->ranks.back().evaluation.at(row).loss = loss;
    evaluated.repeated->ranks.back().evaluation.at(row).data_digest = digest;

    const auto verdict = evaluated.judge();

    EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("repeatability"));
    expect_finding(*verdict.first_divergence, {.step = 1, .item = item});
  };
  expect_red(2, 1.25F, std::string(32, 'a'), "loss of the evaluation's microbatch 0");
  expect_red(2, 1.5F, other_digest, "data of the evaluation's microbatch 0");
  expect_red(3, 1.25F, "", "loss of the evaluation");
}

TEST_F(Repeatability, FailsForTheSameRecordTwice) {
  cell.repeated = cell.candidate;

  EXPECT_THAT(result_of(cell.judge(), "repeatability").reason, HasSubstr("never compared with itself"));
}

TEST_F(Repeatability, FailsWhereTheSecondRunEndedBadlyByItsLauncher) {
  cell.plan.repeat_launch = LaunchFinding{};
  cell.plan.repeat_launch->exit_code = 139;
  cell.plan.repeat_launch->words = "rank 1 was killed by signal 11";

  const auto result = result_of(cell.judge(), "repeatability");

  EXPECT_EQ(result.outcome, Outcome::fails);
  EXPECT_THAT(result.reason, HasSubstr("rank 1 was killed by signal 11"));
}

TEST_F(Repeatability, FailsWhereTheSecondRunSaysThatItEndedBadly) {
  cell.repeated->ranks[1].exit->status = "error";
  cell.repeated->ranks[1].exit->code = 1;

  EXPECT_THAT(result_of(cell.judge(), "repeatability").reason, HasSubstr("rank 1 ended with status error"));
}

TEST_F(Repeatability, FailsWhereTheSecondRunLeftNoRecord) {
  const auto verdict =
      judge_cell(cell.plan, cell.write_reference(), cell.write_candidate(), cell.folder / "nothing was written here");
  const auto result = result_of(verdict, "repeatability");

  EXPECT_EQ(result.outcome, Outcome::fails);
  EXPECT_THAT(result.reason, HasSubstr("left no readable record"));
}

TEST_F(Repeatability, IsNotRunWithoutASecondRunThoughAskedFor) {
  cell.repeated.reset();

  const auto verdict = cell.judge();

  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(result_of(verdict, "repeatability").outcome, Outcome::not_run);
}

TEST_F(Repeatability, FailsForARowThatOneOfTheTwoLacks) {
  const auto without_a_moment = [](SyntheticRun& run) {
    std::erase_if(run.ranks[1].tensors, [](const TensorRow& row) {
      return row.step == 1 && row.kind == "moment1" && row.name == "model.norm.weight";
    });
  };
  without_a_moment(*cell.repeated);
  EXPECT_THAT(result_of(cell.judge(), "repeatability").reason, HasSubstr("no row"));

  SyntheticCell other;
  other.plan.repeat = true;
  other.repeated = cell.candidate;
  other.repeated->manifest["run_id"] = new_run_id();
  for (auto& rank : other.repeated->ranks) {
    for (auto& row : rank.actions) row.end_ns += 1;
  }
  without_a_moment(other.candidate);
  EXPECT_THAT(result_of(other.judge(), "repeatability").reason, HasSubstr("no row"));
}

}  // namespace
}  // namespace plumbline::testing
