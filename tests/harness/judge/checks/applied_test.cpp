// SPDX-License-Identifier: BSD-3-Clause
// Gradients as the optimizer receives them, the model's buffers, and steps that no optimizer made.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// External records with gradients as applied, and a counter on the last stage, after each step.
struct AppliedCell : SyntheticCell {
  AppliedCell() {
    for (SyntheticRun* run : {&reference, &candidate}) {
      run->manifest["role"] = "external";
      for (RankRecord& rank : run->ranks) {
        std::vector<TensorRow> more;
        for (const TensorRow& row : rank.tensors) {
          TensorRow other = row;
          other.kind = row.kind == "gradient" ? "applied" : "buffer";
          if (row.kind == "gradient") more.push_back(other);
          if (row.kind != "parameter" || row.name != "model.norm.weight") continue;
          other.name = "model.norm.count";
          other.dtype = "int64";
          more.push_back(other);
        }
        rank.tensors.insert(rank.tensors.end(), more.begin(), more.end());
      }
    }
  }
  void say_updated(bool updated, std::size_t step) {
    for (RankRecord& rank : reference.ranks) rank.steps[step].updated = updated;
    for (RankRecord& rank : candidate.ranks) rank.steps[step].updated = updated;
  }
  /// What both records have of a step that no optimizer made: neither gradients nor a norm.
  void skip(std::size_t step) {
    say_updated(false, step);
    for (SyntheticRun* run : {&reference, &candidate}) {
      run->erase(&RankRecord::tensors, [&](const TensorRow& row) {
        return row.step == static_cast<std::int64_t>(step) && (row.kind == "gradient" || row.kind == "applied");
      });
      for (RankRecord& rank : run->ranks)
        rank.steps[step].gradient_norm.reset(), rank.steps[step].clip_coefficient.reset();
    }
  }
};

TEST(Applied, GradientsAndBuffersOfEqualRecordsHold) {
  AppliedCell cell;
  const CellVerdict verdict = cell.judge();
  EXPECT_TRUE(verdict.holds);
  EXPECT_EQ(result_of(verdict, "applied").compared.at("tensors"), 21 * synthetic_steps);
  EXPECT_EQ(result_of(verdict, "buffers").compared.at("buffers"), synthetic_steps + 1);
}

// A norm below the limit hides that nothing would have clipped: gradients before clipping are evidence of their own.
TEST(Applied, IsNoEvidenceOfTheGradientsBeforeClipping) {
  AppliedCell cell;
  cell.candidate.erase(&RankRecord::tensors, [](const auto& row) { return row.kind == "gradient"; });
  cell.candidate.manifest["not_recorded"].push_back({{"what", "gradients"}, {"why", "clipped by code of its own"}});

  const CellVerdict verdict = cell.judge();

  ASSERT_TRUE(verdict.incomplete());
  EXPECT_EQ(acceptable_claims(verdict.checks).front(), "gradients");
}

TEST(Buffers, ThatOneRecordLacksAreMissing) {
  AppliedCell cell;
  cell.candidate.erase(&RankRecord::tensors, [](const auto& row) { return row.kind == "buffer"; });

  const CellVerdict verdict = cell.judge();

  ASSERT_TRUE(verdict.incomplete());
  EXPECT_EQ(acceptable_claims(verdict.checks).front(), "buffers");
  EXPECT_THAT(missing_words(verdict.checks, false), HasSubstr("only the reference has buffers"));
}

TEST(Buffers, AMissingBufferOfSeveralFails) {
  AppliedCell cell;
  for (SyntheticRun* run : {&cell.reference, &cell.candidate}) {
    for (RankRecord& rank : run->ranks) {
      std::vector<TensorRow> more;
      for (TensorRow row : rank.tensors) {
        if (row.kind != "buffer" || run == &cell.candidate) continue;
        row.name = "model.norm.mean";
        more.push_back(row);
      }
      rank.tensors.insert(rank.tensors.end(), more.begin(), more.end());
    }
  }
  expect_red(cell, {"buffers"}, {.item = "model.norm.mean", .got = "none"});
}

TEST(SkippedStep, OfBothNeedsNeitherGradientsNorNorm) {
  for (const std::size_t step : {0, 1}) {
    AppliedCell cell;
    cell.plan.clipping_must_act = false;
    cell.skip(step);

    const CellVerdict verdict = cell.judge();

    EXPECT_THAT(with_outcome(verdict, Outcome::differs), IsEmpty()) << step;
    EXPECT_TRUE(verdict.holds) << step;
    EXPECT_EQ(result_of(verdict, "gradients").outcome, Outcome::holds) << step;
  }
}

TEST(SkippedStep, ThatNoRecordStatesNeedsThem) {
  AppliedCell cell;
  cell.skip(1);
  cell.say_updated(true, 1);
  EXPECT_THAT(with_outcome(cell.judge(), Outcome::differs), Contains("gradients"));
}

TEST(SkippedStep, WithOverflownGradientsHoldsIfBothHaveThem) {
  AppliedCell cell;
  cell.plan.clipping_must_act = false;
  cell.say_updated(false, 1);
  for (SyntheticRun* run : {&cell.reference, &cell.candidate}) {
    TensorRow& row = tensor_row(*run, 1, "gradient", "model.norm.weight");
    row.inf = 1, row.l2 = INFINITY, row.max_abs = INFINITY;
    run->erase(&RankRecord::tensors, [](const auto& one) { return one.kind == "applied" && one.step == 1; });
  }
  EXPECT_THAT(with_outcome(cell.judge(), Outcome::differs), IsEmpty());
}

TEST(SkippedStep, WithOverflowInOnlyOneRecordFails) {
  for (const bool of_candidate : {true, false}) {
    AppliedCell cell;
    cell.plan.clipping_must_act = false;
    cell.say_updated(false, 1);
    TensorRow& row = tensor_row(of_candidate ? cell.candidate : cell.reference, 1, "gradient", "model.norm.weight");
    row.inf = 1, row.l2 = INFINITY, row.max_abs = INFINITY, row.digest = other_digest;
    EXPECT_THAT(with_outcome(cell.judge(), Outcome::differs), Contains("gradients")) << of_candidate;
  }
}

}  // namespace
}  // namespace plumbline::testing
