// SPDX-License-Identifier: BSD-3-Clause
// The check audit: two records with equal bits and the same mistake.
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
    return judge_cell({}, reference.write(folder / "reference"), candidate.write(folder / "candidate"));
  }
  /// After judge(): again without the dumps of these records.
  CellVerdict judge_without_dumps(const std::vector<std::string>& whose, const CellPlan& plan = {}) {
    for (const std::string& record : whose) remove_dumps(folder / record, "audited");
    return judge_cell(plan, folder / "reference", folder / "candidate");
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

std::string name_of_mistake(const ::testing::TestParamInfo<Mistake>& tested) {
  const std::vector<std::string> names{"rate_a_step_early", "clip_not_applied", "applied_twice", "moments_exchanged"};
  return names.at(tested.index);
}

INSTANTIATE_TEST_SUITE_P(, SharedMistake,
                         ::testing::Values(Mistake::rate_a_step_early, Mistake::clip_not_applied,
                                           Mistake::applied_twice, Mistake::moments_exchanged),
                         name_of_mistake);

TEST_P(SharedMistake, IsRedHereAndHereAlone) {
  TrainedCell cell("adamw", "float32", GetParam());

  const CellVerdict verdict = cell.judge();

  EXPECT_EQ(result_of(verdict, "audit").outcome, Outcome::fails);
  EXPECT_THAT(with_outcome(verdict, Outcome::fails), IsEmpty());
  EXPECT_FALSE(verdict.holds);
  expect_finding(verdict.first_divergence.value(), {.level = "audit", .words = "the reference: rank-0/"});
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
  const CellVerdict verdict = cell.judge_without_dumps({"reference", "candidate"});
  const CheckResult& audit = result_of(verdict, "audit");
  EXPECT_EQ(audit.outcome, Outcome::not_run);
  EXPECT_EQ(audit.requirement, Requirement::informational);
  EXPECT_THAT(audit.reason, HasSubstr("not recomputed again: the dumps of both records were removed"));
  EXPECT_THAT(with_outcome(verdict, Outcome::fails), IsEmpty());
}

TEST(AuditCheck, OfOneRecordsRemovedDumpsNamesIt) {
  for (const std::string whose : {"candidate", "reference"}) {
    TrainedCell cell("adamw", "float32");
    cell.judge();
    EXPECT_THAT(result_of(cell.judge_without_dumps({whose}), "audit").reason,
                HasSubstr("the dumps of the " + whose + " were removed"));
  }
}

TEST(AuditCheck, OfRemovedDumpsStillSeesWhatTablesShow) {
  TrainedCell cell("sgd", "float32", Mistake::clip_not_applied);
  cell.judge();
  EXPECT_EQ(result_of(cell.judge_without_dumps({"reference", "candidate"}), "audit").outcome, Outcome::fails);
}

TEST(AuditCheck, OfRemovedDumpsIsRequiredWhereNotEvenTablesWereLookedAt) {
  TrainedCell cell("adamw", "float32");
  cell.candidate.run.manifest["seed"] = 77;  // another run
  cell.judge();
  CellPlan plan;
  plan.checks = {"audit"};
  const CellVerdict verdict = cell.judge_without_dumps({"reference", "candidate"}, plan);
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
  for (auto* trained : {&cell.reference, &cell.candidate}) {
    trained->run.manifest["optimizer"]["momentum"] = 0.0;
    trained->peak_rate = 1e-9;  // nothing moves
    trained->run.erase(&RankRecord::tensors, [](const auto& row) { return row.kind == "moment1"; });
  }

  const CheckResult audit = result_of(cell.judge(), "audit");
  EXPECT_EQ(audit.outcome, Outcome::not_triggered) << audit.reason;
  EXPECT_THAT(audit.reason, HasSubstr("no mistake of the optimiser would be detected in norm.weight"));
}

TEST(AuditCheck, TellsWhereARecordDoesNotFollowFromItself) {
  SyntheticCell crossing, tied;
  BoundaryRow& received = boundary_row(crossing.candidate, 1, 2, "forward", "layers.1", "receive");
  TensorRow& head = tensor_row(tied.candidate, 1, "gradient", head_weight);
  const std::string sent = std::exchange(received.digest, other_digest);
  const std::string of_embedding = std::exchange(head.digest, other_digest);

  const auto at_cut = expect_fails(crossing, "audit");
  expect_finding(at_cut, {.step = 1, .microbatch = 2, .rank = 1, .item = "forward boundary layers.1, side receive"});
  expect_finding(at_cut, {.expected = sent, .got = other_digest, .words = "rank-1/boundaries.csv:"});
  expect_fails(tied, "audit",
               {.step = 1, .stage = 1, .rank = 1, .item = "gradient lm_head.weight", .expected = of_embedding});
}

// Findings come table by table; what is told is the first in the order of computation.
TEST(AuditCheck, TellsTheEarliestOfSeveralFindings) {
  SyntheticCell cell;
  cell.candidate.ranks[0].steps[1].learning_rate = 7;
  boundary_row(cell.candidate, 0, 2, "forward", "layers.1", "receive").digest = other_digest;

  expect_fails(cell, "audit", {.step = 0, .microbatch = 2});
}

// Of a coefficient that one record has wrong, the comparison of the two says more than the record alone.
TEST(AuditCheck, StandsBehindTheComparisonThatSeesTheSame) {
  SyntheticCell cell;
  cell.candidate.ranks[1].steps[0].clip_coefficient = 0.25;

  const auto verdict = cell.judge();

  EXPECT_EQ(result_of(verdict, "audit").outcome, Outcome::fails);
  EXPECT_EQ(verdict.first_divergence.value().level, "R4");
}

TEST(AuditCheck, WhatIsNotAuditedIsSaidOnceAndAll) {
  SyntheticCell cell;
  cell.candidate.manifest["role"] = "external";

  const auto audit = result_of(cell.judge(), "audit");

  EXPECT_THAT(audit.not_shown,
              ::testing::UnorderedElementsAre(HasSubstr("an external trainer may compute these in any way"),
                                              HasSubstr("values: a record of level full holds none")));
}

TEST(AuditCheck, CountsTheElementsThatWereRecomputedInAllStepsOfAllKinds) {
  TrainedCell cell("adamw", "float32");

  const std::string reason = result_of(cell.judge(), "audit").reason;

  std::int64_t elements = 0;
  for (const TensorRow& row : cell.candidate.run.rows(&RankRecord::tensors))
    elements += row.kind == "gradient" ? element_count(row.shape) : 0;
  EXPECT_THAT(reason, HasSubstr("of " + std::to_string(elements) + " updated elements"));
}

TEST(AuditCheck, OfAnOptimiserWithoutAFormulaSaysThatNoUpdateWasRecomputed) {
  TrainedCell cell("sgd", "float32");
  for (auto* run : {&cell.reference.run, &cell.candidate.run})
    run->manifest["role"] = "external", run->manifest["optimizer"]["nesterov"] = true;

  const auto audit = result_of(cell.judge(), "audit");

  EXPECT_THAT(audit.reason, HasSubstr("no update was recomputed"));
  EXPECT_THAT(audit.not_shown, Contains(HasSubstr("no formula is known for sgd with nesterov")));
}

}  // namespace
}  // namespace plumbline::testing
