// SPDX-License-Identifier: BSD-3-Clause
// The check audit: the predicates, on both records.
#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A mistake that both trainers share leaves two equal records.
TEST(AuditCheck, FindsAMistakeThatBothRecordsShareAndNoOtherCheckDoes) {
  SyntheticCell cell;
  EXPECT_EQ(result_of(cell.judge(), "audit").outcome, Outcome::holds);
  for (auto* run : {&cell.reference, &cell.candidate})
    for (RankRecord& rank : run->ranks) rank.steps[1].learning_rate = 0.5;

  const CellVerdict verdict = cell.judge();

  EXPECT_EQ(result_of(verdict, "audit").outcome, Outcome::differs);
  EXPECT_THAT(with_outcome(verdict, Outcome::differs), IsEmpty());
  EXPECT_FALSE(verdict.holds);
  expect_finding(verdict.first_divergence.value(), {.level = "audit", .words = "the reference: rank-0/"});
}

TEST(AuditCheck, FindsInconsistentRecords) {
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
TEST(AuditCheck, ReportsTheEarliestOfSeveralFindings) {
  SyntheticCell cell;
  cell.candidate.ranks[0].steps[1].learning_rate = 7;
  boundary_row(cell.candidate, 0, 2, "forward", "layers.1", "receive").digest = other_digest;

  expect_fails(cell, "audit", {.step = 0, .microbatch = 2});
}

// Of a coefficient that one record has wrong, the comparison of the two says more than the record alone.
TEST(AuditCheck, ComesAfterTheComparisonThatFindsTheSame) {
  SyntheticCell cell;
  cell.candidate.ranks[1].steps[0].clip_coefficient = 0.25;

  const auto verdict = cell.judge();

  EXPECT_EQ(result_of(verdict, "audit").outcome, Outcome::differs);
  EXPECT_EQ(verdict.first_divergence.value().level, "R4");
}

TEST(AuditCheck, NamesWhatIsNotJudgedOnce) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) run->manifest.erase("learning_rate_schedule");
  for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["role"] = "external";

  EXPECT_THAT(result_of(cell.judge(), "audit").not_shown, ::testing::ElementsAre(HasSubstr("learning rates (")));
}

}  // namespace
}  // namespace plumbline::testing
