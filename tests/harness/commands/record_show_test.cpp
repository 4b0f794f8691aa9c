// SPDX-License-Identifier: BSD-3-Clause
// Summaries of records that tests/approved/commands/record.txt cannot make with a shell.
#include "harness/commands/commands.hpp"
#include "harness/commands/record_check.hpp"
#include "harness/judge/judge.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

TEST(RecordShow, AResumedRunShowsItsFirstStep) {
  SyntheticCell cell;
  begin_with_second_step(cell.candidate);

  EXPECT_THAT(shown_record(cell.write_candidate()),
              AllOf(HasSubstr("2 ranks, 1 steps of 5 microbatches"),
                    HasSubstr("begins          with step 1 of 2, resuming run the run before\n")));
}

TEST(RecordShow, NamesFrozenParameters) {
  SyntheticCell cell;
  const std::string norm = "model.norm.weight";
  cell.candidate.manifest["role"] = "external";
  cell.candidate.manifest["frozen"] = {norm};
  cell.candidate.erase(&RankRecord::tensors,
                       [&](const TensorRow& row) { return row.kind != "parameter" && row.name == norm; });

  EXPECT_THAT(shown_record(cell.write_candidate()), HasSubstr("frozen          model.norm.weight\n"));
}

TEST(RecordRules, NameEveryCheck) {
  for (const auto& name : check_names()) EXPECT_THAT(rules_text(), HasSubstr("\n" + name + " "));
}

TEST(RecordCheck, CountsTheStepsOfAResumedRun) {
  SyntheticCell cell;
  begin_with_second_step(cell.candidate);

  EXPECT_EQ(check_record(cell.write_candidate()).steps(), synthetic_steps - 1);
}

}  // namespace
}  // namespace plumbline::testing
