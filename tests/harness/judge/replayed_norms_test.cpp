// SPDX-License-Identifier: BSD-3-Clause
// References that clipped by the candidate's norms, and steps with several clipping calls.
#include <gmock/gmock.h>

#include <cmath>

#include "support/files.hpp"
#include "support/hash.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// Two records whose norms differ by a rounding in the first step; the reference clipped by the candidate's.
struct ReplayedCell : SyntheticCell {
  ReplayedCell() {
    for (SyntheticRun* run : {&reference, &candidate}) {
      run->manifest["role"] = "external";
      run->manifest["norm_order"] = "per_rank";
      for (RankRecord& rank : run->ranks) {
        for (StepRow& row : rank.steps) {
          const double own = *row.gradient_norm, coefficient = *row.clip_coefficient;
          if (run == &reference && row.step == 0) row.gradient_norm = std::nextafter(own, 0.0);
          const auto replayed = run == &reference ? std::optional(own) : std::nullopt;
          rank.norms.push_back({row.step, 0, *row.gradient_norm, replayed, coefficient});
        }
      }
    }
  }
  CellVerdict judge_replay() {
    write_run(candidate, folder / "of_digest");
    const std::string digest = hash_hex(read_file(folder / "of_digest/rank-0/norms.csv"));
    reference.manifest["norms_from"] = {{"run_id", candidate.manifest["run_id"]}, {"rank", 0}, {"digest", digest}};
    return judge();
  }
};

TEST(ReplayedNorms, MakeEveryBitComparable) {
  ReplayedCell cell;
  const CellVerdict verdict = cell.judge_replay();
  EXPECT_TRUE(verdict.holds);
  EXPECT_FALSE(result_of(verdict, "parameters").from_step);
}

TEST(ReplayedNorms, HideNoLaterFault) {
  ReplayedCell cell;
  tensor_row(cell.candidate, 1, "gradient", "model.norm.weight").digest = other_digest;
  const CellVerdict verdict = cell.judge_replay();
  EXPECT_THAT(with_outcome(verdict, Outcome::differs), Contains("gradients"));
  EXPECT_EQ(verdict.first_divergence->step, 1);
}

TEST(ReplayedNorms, MustBeTheCandidates) {
  ReplayedCell cell;
  cell.reference.manifest["norms_from"] = {{"run_id", "another"}, {"rank", 0}, {"digest", other_digest}};
  const CellVerdict verdict = cell.judge();
  EXPECT_THAT(result_of(verdict, "gradient_norm").reason, HasSubstr("another run's norms (another)"));
  EXPECT_FALSE(verdict.holds);
  tensor_row(cell.candidate, 1, "gradient", "model.norm.weight").digest = other_digest;
  EXPECT_EQ(cell.judge().first_divergence->item, "model.norm.weight") << "the cause comes first";
}

TEST(ReplayedNorms, ThatTheReferenceDidNotUseFail) {
  ReplayedCell cell;
  for (RankRecord& rank : cell.reference.ranks) {
    const double other = std::nextafter(*rank.steps[0].clip_coefficient, 0.0);
    rank.steps[0].clip_coefficient = rank.norms[0].coefficient = other;
  }
  EXPECT_THAT(result_of(cell.judge_replay(), "gradient_norm").reason, HasSubstr("record.norm(total_norm) returns"));
}

TEST(ReplayedNorms, AreRefusedOfACandidate) {
  ReplayedCell cell;
  cell.candidate.manifest["norms_from"] = {{"run_id", "another"}, {"rank", 0}, {"digest", other_digest}};
  EXPECT_THAT(result_of(cell.judge_replay(), "gradient_norm").reason, HasSubstr("record it without norms_from="));
}

TEST(ReplayedNorms, OfRanksThatDisagreeFail) {
  ReplayedCell cell;
  cell.candidate.ranks[1].steps[0].gradient_norm = *cell.candidate.ranks[1].steps[0].gradient_norm * 1.5;
  cell.candidate.ranks[1].norms[0].norm = *cell.candidate.ranks[1].steps[0].gradient_norm;
  EXPECT_THAT(with_outcome(cell.judge_replay(), Outcome::differs), Contains("gradient_norm"));
}

TEST(ReplayedNorms, ThatContradictTheStepsRowAreRefused) {
  ReplayedCell cell;
  cell.candidate.ranks[1].norms[0].norm *= 2;
  EXPECT_THAT(result_of(cell.judge_replay(), "completion").reason, HasSubstr("are not those in steps.csv"));
}

/// Both clip twice in each step, by parameter groups.
struct TwoCallsCell : SyntheticCell {
  TwoCallsCell() {
    for (SyntheticRun* run : {&reference, &candidate}) {
      run->manifest["role"] = "external";
      run->manifest["norm_order"] = "per_rank";
      for (RankRecord& rank : run->ranks) {
        for (StepRow& row : rank.steps) {
          for (const std::int64_t call : {0, 1}) rank.norms.push_back({row.step, call, 2.0, {}, 0.5});
          row.gradient_norm.reset(), row.clip_coefficient.reset();
        }
      }
    }
    plan.clipping_must_act = false;
  }
  NormRow& second_call(SyntheticRun& run, std::size_t rank) { return run.ranks[rank].norms[1]; }
};

TEST(SeveralClippingCalls, OfEqualNormsHold) {
  TwoCallsCell cell;
  EXPECT_TRUE(cell.judge().holds);
}

TEST(SeveralClippingCalls, WithAnotherNormFail) {
  for (const bool of_one_rank : {true, false}) {
    TwoCallsCell cell;
    for (const std::size_t rank : {0, 1})
      if (!of_one_rank || rank == 1) cell.second_call(cell.candidate, rank).norm = 6.0;
    EXPECT_THAT(with_outcome(cell.judge(), Outcome::differs), Contains("gradient_norm")) << of_one_rank;
  }
}

TEST(SeveralClippingCalls, WhoseCoefficientsDifferByARoundingMakeTheCaseIncomplete) {
  TwoCallsCell cell;
  for (const std::size_t rank : {0, 1}) cell.second_call(cell.candidate, rank).coefficient = std::nextafter(0.5, 1.0);
  const CellVerdict verdict = cell.judge();
  EXPECT_TRUE(verdict.incomplete());
  EXPECT_EQ(result_of(verdict, "parameters").from_step, 0);
}

TEST(SeveralClippingCalls, OfAnotherNumberFail) {
  TwoCallsCell cell;
  for (RankRecord& rank : cell.candidate.ranks) rank.norms.push_back({1, 2, 2.0, {}, 0.5});
  EXPECT_THAT(with_outcome(cell.judge(), Outcome::differs), Contains("gradient_norm"));
}

}  // namespace
}  // namespace plumbline::testing
