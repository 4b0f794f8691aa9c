// The check: two records that agree to the bit, and that are wrong alike.
#include <gmock/gmock.h>

#include "record/removed_dumps.hpp"
#include "tests/harness/judge/audit/trained_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct TrainedCell {
  explicit TrainedCell(const std::string& optimizer, const std::string& dtype, Mistake mistake = Mistake::none) {
    const SyntheticPlan plan = trained_plan(optimizer, /*tied=*/false);
    reference = {synthetic_reference(plan), dtype, mistake};
    candidate = {synthetic_candidate(plan), dtype, mistake};
  }
  CellVerdict judge() {
    CellPlan plan;
    plan.id = "trained";
    plan.world = 2;
    return judge_cell(plan, reference.write(folder / "reference"), candidate.write(folder / "candidate"));
  }
  TemporaryFolder folder;
  TrainedRun reference, candidate;
};

TEST(AuditCheck, HoldsWhereEveryStepFollowsFromItsValues) {
  TrainedCell cell("adamw", "float32");

  const CellVerdict verdict = cell.judge();
  const CheckResult& audit = result_of(verdict, "audit");

  EXPECT_EQ(audit.outcome, Outcome::holds) << audit.reason;
  EXPECT_THAT(audit.reason, AllOf(HasSubstr("every step of both records"), HasSubstr("applied twice ")));
  EXPECT_THAT(with_outcome(verdict, Outcome::fails), IsEmpty());
}

class SharedMistake : public ::testing::TestWithParam<Mistake> {};

INSTANTIATE_TEST_SUITE_P(, SharedMistake,
                         ::testing::Values(Mistake::rate_a_step_early, Mistake::clip_not_applied,
                                           Mistake::applied_twice, Mistake::moments_exchanged));

TEST_P(SharedMistake, IsRedHereAndHereAlone) {
  TrainedCell cell("adamw", "float32", GetParam());

  const CellVerdict verdict = cell.judge();

  EXPECT_EQ(result_of(verdict, "audit").outcome, Outcome::fails);
  EXPECT_THAT(with_outcome(verdict, Outcome::fails), IsEmpty());
  EXPECT_FALSE(verdict.holds);
  ASSERT_TRUE(verdict.first_divergence);
  EXPECT_EQ(verdict.first_divergence->rung, "audit");
  EXPECT_THAT(verdict.first_divergence->words, HasSubstr("the reference: rank-0/"));
}

TEST(AuditCheck, OfTablesAloneSaysSoAndSeesTheClipThatWasNotApplied) {
  for (const Mistake mistake : {Mistake::none, Mistake::clip_not_applied}) {
    TrainedCell cell("sgd", "float32", mistake);
    cell.judge();  // fills in the tables
    for (auto* run : {&cell.reference.run, &cell.candidate.run}) run->manifest["level"] = "full";
    write_run(cell.reference.run, cell.folder / "one");
    write_run(cell.candidate.run, cell.folder / "other");

    const CellVerdict verdict = judge_cell({}, cell.folder / "one", cell.folder / "other");
    const CheckResult& audit = result_of(verdict, "audit");

    EXPECT_EQ(audit.outcome, mistake == Mistake::none ? Outcome::holds : Outcome::fails) << audit.reason;
    EXPECT_THAT(audit.not_shown, Contains(HasSubstr("values: a record of level full holds none")));
  }
}

TEST(AuditCheck, OfRemovedDumpsIsNotRepeatedSaysSoAndStandsInNobodysWay) {
  TrainedCell cell("adamw", "float32");
  cell.judge();
  remove_dumps(cell.folder / "reference", "audited");
  remove_dumps(cell.folder / "candidate", "audited");

  const CellVerdict verdict = judge_cell({}, cell.folder / "reference", cell.folder / "candidate");
  const CheckResult& audit = result_of(verdict, "audit");

  EXPECT_EQ(audit.outcome, Outcome::not_run);
  EXPECT_EQ(audit.requirement, Requirement::told);
  EXPECT_THAT(audit.reason, HasSubstr("not audited again: the dumps of both records were removed"));
  EXPECT_THAT(with_outcome(verdict, Outcome::fails), IsEmpty());
}

TEST(AuditCheck, OfOneRecordsRemovedDumpsNamesIt) {
  TrainedCell cell("adamw", "float32");
  cell.judge();
  remove_dumps(cell.folder / "candidate", "audited");

  EXPECT_THAT(result_of(judge_cell({}, cell.folder / "reference", cell.folder / "candidate"), "audit").reason,
              HasSubstr("the dumps of the candidate were removed"));
}

TEST(AuditCheck, OfRemovedDumpsStillSeesWhatTablesShow) {
  TrainedCell cell("sgd", "float32", Mistake::clip_not_applied);
  cell.judge();
  remove_dumps(cell.folder / "reference", "audited");
  remove_dumps(cell.folder / "candidate", "audited");

  EXPECT_EQ(result_of(judge_cell({}, cell.folder / "reference", cell.folder / "candidate"), "audit").outcome,
            Outcome::fails);
}

TEST(AuditCheck, OfRemovedDumpsIsRequiredWhereNotEvenTablesWereLookedAt) {
  TrainedCell cell("adamw", "float32");
  cell.candidate.run.manifest["seed"] = 77;  // another run
  cell.judge();
  remove_dumps(cell.folder / "reference", "audited");
  remove_dumps(cell.folder / "candidate", "audited");
  CellPlan plan;
  plan.checks = {"audit"};

  const CellVerdict verdict = judge_cell(plan, cell.folder / "reference", cell.folder / "candidate");

  EXPECT_EQ(result_of(verdict, "audit").requirement, Requirement::required);
  EXPECT_FALSE(verdict.holds);
}

TEST(AuditCheck, WithoutDumpsThatNobodyRemovedIsRed) {
  TrainedCell cell("adamw", "float32");
  cell.judge();
  for (const char* rank : {"rank-0", "rank-1"}) std::filesystem::remove_all(cell.folder / "candidate" / rank / "dumps");

  EXPECT_FALSE(judge_cell({}, cell.folder / "reference", cell.folder / "candidate").holds);
}

TEST(AuditCheck, IsNotTriggeredWhereNoMistakeWouldShow) {
  TrainedCell cell("sgd", "bfloat16");
  for (auto* run : {&cell.reference.run, &cell.candidate.run}) run->manifest["optimizer"]["momentum"] = 0.0;
  for (auto* run : {&cell.reference, &cell.candidate}) run->peak_rate = 1e-9;  // nothing moves
  for (auto* run : {&cell.reference.run, &cell.candidate.run}) {
    for (RankRecord& rank : run->ranks)
      std::erase_if(rank.tensors, [](const auto& row) { return row.kind == "moment1"; });
  }

  const CheckResult audit = result_of(cell.judge(), "audit");

  EXPECT_EQ(audit.outcome, Outcome::not_triggered) << audit.reason;
  EXPECT_THAT(audit.reason, HasSubstr("no mistake of the optimiser would show in norm.weight"));
}

}  // namespace
}  // namespace plumbline::testing
