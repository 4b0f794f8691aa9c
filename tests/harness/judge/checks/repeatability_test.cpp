// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

struct RepeatedCell : SyntheticCell {
  RepeatedCell() {
    plan.repeat = true;
    repeated = synthetic_candidate({});
    for (ActionRow& row : repeated->rows(&RankRecord::actions)) row.end_ns += 1;  // time is not what has to repeat
  }
};

class Repeatability : public ::testing::Test {
 protected:
  RepeatedCell cell;
};

TEST_F(Repeatability, HoldsForASecondRunOfTheSameBits) {
  const auto verdict = cell.judge();

  EXPECT_TRUE(verdict.holds);
  EXPECT_EQ(result_of(verdict, "repeatability").outcome, Outcome::holds);
}

TEST_F(Repeatability, FailsForAChangedMomentOrStepValue) {
  tensor_row(*cell.repeated, 1, "moment1", "model.norm.weight").digest = other_digest;
  expect_red(cell, {"repeatability"}, {.level = "R0", .step = 1, .item = "moment1 model.norm.weight"});

  RepeatedCell of_figures;
  for (auto& rank : of_figures.repeated->ranks) rank.steps.at(1).learning_rate = 0.25;
  expect_red(of_figures, {"repeatability"}, {.step = 1, .item = "learning_rate", .got = "0.25"});
}

TEST_F(Repeatability, FailsForAnotherEvaluation) {
  const auto evaluate = [](SyntheticRun& run) {
    run.manifest["evaluation"] = {{"every", 1}, {"microbatches", 1}};
    for (const std::int64_t step : {0, 1}) {
      run.ranks.back().evaluation.push_back({step, 0, 8, 8, 1.5F, std::string(32, 'a')});
      run.ranks.back().evaluation.push_back({step, {}, 8, 8, 1.5F, ""});
    }
  };
  const auto expect_told = [&](std::size_t row, float loss, const std::string& digest, const std::string& item) {
    RepeatedCell evaluated;
    for (SyntheticRun* run : {&evaluated.reference, &evaluated.candidate, &*evaluated.repeated}) evaluate(*run);
    evaluated.repeated->ranks.back().evaluation.at(row).loss = loss;
    evaluated.repeated->ranks.back().evaluation.at(row).data_digest = digest;

    expect_red(evaluated, {"repeatability"}, {.step = 1, .item = item});
  };
  expect_told(2, 1.25F, std::string(32, 'a'), "evaluation, microbatch 0");
  expect_told(2, 1.5F, other_digest, "evaluation, microbatch 0");
  expect_told(3, 1.25F, "", "evaluation");
}

TEST_F(Repeatability, FailsForTheSameRecordTwice) {
  cell.repeated = cell.candidate;

  EXPECT_THAT(result_of(cell.judge(), "repeatability").reason, HasSubstr("give two different runs"));
}

TEST_F(Repeatability, FailsIfTheLauncherOfTheSecondRunFailed) {
  cell.plan.repeat_launch = LaunchFinding{};
  cell.plan.repeat_launch->exit_code = 139;
  cell.plan.repeat_launch->words = "rank 1 was killed by signal 11";

  EXPECT_THAT(expect_outcome(cell, "repeatability", Outcome::differs).reason,
              HasSubstr("rank 1 was killed by signal 11"));
}

TEST_F(Repeatability, FailsIfTheSecondRunReportsAFailure) {
  cell.repeated->ranks[1].exit->status = "error";
  cell.repeated->ranks[1].exit->code = 1;

  EXPECT_THAT(result_of(cell.judge(), "repeatability").reason, HasSubstr("rank 1 ended with status error"));
}

TEST_F(Repeatability, FailsIfTheSecondRunLeftNoRecord) {
  const auto verdict =
      judge_cell(cell.plan, cell.write_reference(), cell.write_candidate(), cell.folder / "nothing was written here");
  const auto result = result_of(verdict, "repeatability");

  EXPECT_EQ(result.outcome, Outcome::differs);
  EXPECT_THAT(result.reason, HasSubstr("left no readable record"));
}

TEST_F(Repeatability, IsIncompleteWithoutTheRequestedSecondRun) {
  cell.repeated.reset();

  const auto verdict = cell.judge();

  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(result_of(verdict, "repeatability").outcome, Outcome::incomplete);
}

TEST_F(Repeatability, FailsForARowThatOneOfTheTwoLacks) {
  const auto without_a_moment = [](SyntheticRun& run) {
    std::erase_if(run.ranks[1].tensors, [](const TensorRow& row) {
      return row.step == 1 && row.kind == "moment1" && row.name == "model.norm.weight";
    });
  };
  without_a_moment(*cell.repeated);
  EXPECT_THAT(result_of(cell.judge(), "repeatability").reason, HasSubstr("no row"));

  RepeatedCell other;
  without_a_moment(other.candidate);
  EXPECT_THAT(result_of(other.judge(), "repeatability").reason, HasSubstr("no row"));
}

}  // namespace
}  // namespace plumbline::testing
