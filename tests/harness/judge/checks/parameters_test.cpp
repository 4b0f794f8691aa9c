// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Parameters, AfterAnotherStartNothingIsCounted) {
  SyntheticCell cell;
  tensor_row(cell.candidate, -1, "parameter", "model.norm.weight").digest = other_digest;
  tensor_row(cell.candidate, 1, "moment2", "model.norm.weight").digest = other_digest;

  const auto verdict = cell.judge();

  EXPECT_EQ(verdict.first_divergence.value().step, -1);
  EXPECT_THAT(result_of(verdict, "parameters").reason, ::testing::Not(HasSubstr("differences in all")));
}

TEST(Parameters, WithoutMomentumThereAreNoMomentsToMiss) {
  SyntheticCell cell({.optimizer = "sgd"});
  for (auto* run : {&cell.reference, &cell.candidate}) {
    run->manifest["optimizer"]["momentum"] = 0.0;
    run->erase(&RankRecord::tensors, [](const TensorRow& row) { return row.kind.starts_with("moment"); });
  }
  EXPECT_EQ(result_of(cell.judge(), "parameters").outcome, Outcome::holds);
}

/// Two external records of this optimizer; `lacking` of them have no moment2 of the norm's weight.
CheckResult without_a_moment(const Json& optimizer, int lacking) {
  SyntheticCell cell;
  for (auto* run : {&cell.candidate, &cell.reference}) {
    run->manifest["role"] = "external";
    run->manifest["optimizer"] = optimizer;
    if (lacking-- <= 0) continue;
    run->erase(&RankRecord::tensors,
               [](const TensorRow& row) { return row.name == "model.norm.weight" && row.kind == "moment2"; });
  }
  return result_of(cell.judge(), "parameters");
}

TEST(Parameters, MomentsThatAnOptimizerOfSeveralFormulasDoesNotKeepAreNotMissed) {
  const Json adamw = SyntheticCell().reference.manifest["optimizer"];
  Json of_groups = adamw;
  of_groups["groups"] = 2;
  for (const Json& optimizer : {of_groups, Json{{"name", "muon+adamw"}, {"learning_rate", 0.001}}}) {
    const CheckResult result = without_a_moment(optimizer, 2);
    EXPECT_EQ(result.outcome, Outcome::holds) << result.reason;
    EXPECT_THAT(result.not_shown, Contains("dropped optimizer state, where neither record has any"));
    EXPECT_THAT(without_a_moment(optimizer, 1).reason, HasSubstr("the candidate lacks this row"));
    EXPECT_THAT(without_a_moment(optimizer, 0).not_shown,
                Not(Contains(HasSubstr("dropped optimizer state, where neither"))));
  }
  EXPECT_THAT(without_a_moment(adamw, 2).reason, HasSubstr("the reference lacks this row"));
}

/// Two external records without moments after step 0. `updated`: step 0 changes the norm's weight all the same.
CheckResult before_the_first_update(bool updated) {
  SyntheticCell cell;
  for (auto* run : {&cell.candidate, &cell.reference}) {
    run->manifest["role"] = "external";
    run->erase(&RankRecord::tensors,
               [](const TensorRow& row) { return row.step == 0 && row.kind.starts_with("moment"); });
    for (TensorRow& row : run->rows(&RankRecord::tensors))
      if (row.kind == "parameter" && row.step < (updated && row.name == "model.norm.weight" ? 0 : 1))
        row.digest = other_digest;
  }
  return result_of(cell.judge(), "parameters");
}

TEST(Parameters, MomentsAreNotMissedBeforeTheFirstUpdate) {
  const CheckResult result = before_the_first_update(false);
  EXPECT_EQ(result.outcome, Outcome::holds) << result.reason;
  EXPECT_THAT(result.not_shown, Contains("dropped optimizer state, where neither record has any"));
  EXPECT_THAT(before_the_first_update(true).reason,
              AllOf(HasSubstr("model.norm.weight"), HasSubstr("the reference lacks this row")));
}

TEST(Parameters, AMissingFrozenParameterFails) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    run->manifest["frozen"] = {"model.norm.weight"};
    for (auto& rank : run->ranks) {
      std::erase_if(rank.tensors, [](const TensorRow& row) {
        return row.name == "model.norm.weight" && (row.kind != "parameter" || row.step == 1);
      });
      for (auto& row : rank.tensors)
        if (row.name == "model.norm.weight") row.digest = other_digest;  // it stays as it is
    }
  }
  EXPECT_THAT(result_of(cell.judge(), "parameters").reason, HasSubstr("the reference lacks this row"));
}

TEST(Parameters, AFrozenParameterThatMovesInBothRecordsIsFound) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    run->manifest["frozen"] = {"model.norm.weight"};
    run->erase(&RankRecord::tensors,
               [](const auto& row) { return row.name == "model.norm.weight" && row.kind != "parameter"; });
  }

  expect_fails(cell, "parameters", {.item = "model.norm.weight", .words = "is frozen by manifest.json, but changes"});
}

}  // namespace
}  // namespace plumbline::testing
