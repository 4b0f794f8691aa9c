// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* weight = "model.layers.0.mlp.gate_proj.weight";

/// The candidate is gone on with at step 1.
struct GoneOnWith : SyntheticCell {
  explicit GoneOnWith(const SyntheticPlan& asked = {}) : SyntheticCell(asked) { begin_with_second_step(candidate); }
};

TEST(ResumeCheck, DoesNotApplyToARunThatBeganAtTheStart) {
  SyntheticCell cell;
  const auto verdict = cell.judge();
  EXPECT_EQ(result_of(verdict, "resume").outcome, Outcome::does_not_apply);
  EXPECT_TRUE(verdict.holds);
}

// It has tensors at the cuts of its model, of the steps that it made.
TEST(ResumeCheck, AResumedRunOnOneDeviceHolds) {
  SyntheticCell cell;
  cell.candidate = synthetic_reference({});
  begin_with_second_step(cell.candidate);

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::differs), IsEmpty());
  EXPECT_EQ(result_of(verdict, "boundaries").outcome, Outcome::holds) << result_of(verdict, "boundaries").reason;
}

TEST(ResumeCheck, EveryCheckHoldsFromTheFirstStepOn) {
  for (const bool tied : {true, false}) {
    for (const char* optimizer : {"adamw", "sgd"}) {
      GoneOnWith cell({.optimizer = optimizer, .tied = tied});
      const auto verdict = cell.judge();
      EXPECT_THAT(with_outcome(verdict, Outcome::differs), IsEmpty()) << optimizer << (tied ? " tied" : "");
      const CheckResult& found = result_of(verdict, "resume");
      EXPECT_EQ(found.outcome, Outcome::holds) << found.reason;
      EXPECT_GT(found.compared.at("tensors"), 0);
      EXPECT_EQ(found.compared.at("learning_rates"), 2);
      EXPECT_EQ(result_of(verdict, "completion").outcome, Outcome::holds);
      EXPECT_EQ(result_of(verdict, "parameters").outcome, Outcome::holds);
      EXPECT_EQ(result_of(verdict, "memory").outcome, Outcome::holds) << result_of(verdict, "memory").reason;
    }
  }
}

TEST(ResumeCheck, EachMistakeInTheFirstStepIsReported) {
  struct Case {
    void (*change)(SyntheticRun& candidate);
    std::vector<std::string> checks;
    ExpectedFinding expected = {};
  };
  const std::vector<Case> cases = {{[](auto& run) { tensor_row(run, -1, "moment2", weight).digest = other_digest; },
                                    {"resume"},
                                    {.step = -1, .item = weight, .words = "moment2"}},
                                   {[](auto& run) {
                                      std::erase_if(run.ranks[0].tensors, [](const TensorRow& row) {
                                        return row.step == -1 && row.kind == "moment1" && row.name == weight;
                                      });
                                    },
                                    {"resume"},
                                    {.step = -1, .item = weight, .words = "the candidate lacks this row"}},
                                   {[](auto& run) { tensor_row(run, -1, "parameter", weight).digest = other_digest; },
                                    {"parameters", "resume"},
                                    {.step = -1, .item = weight}},
                                   {[](auto& run) {
                                      for (MicrobatchRow& row : run.rows(&RankRecord::microbatches)) {
                                        if (row.microbatch == 1 && !row.data_digest.empty())
                                          row.data_digest = other_digest;
                                      }
                                      digest_data_again(run);
                                    },
                                    {"data", "resume"}},
                                   {[](auto& run) {
                                      for (auto& rank : run.ranks) rank.steps[0].learning_rate = 0.123;
                                    },
                                    {"parameters", "resume"},
                                    {.step = 1, .item = "learning_rate"}}};
  for (const auto& [change, checks, expected] : cases) {
    GoneOnWith cell;
    change(cell.candidate);
    const auto verdict = cell.judge();
    EXPECT_EQ(with_outcome(verdict, Outcome::differs), checks);
    expect_finding(*verdict.first_divergence, expected);
  }
}

TEST(ResumeCheck, ARunThatStartedOverInsteadOfResumingFails) {
  SyntheticCell cell;
  cell.plan.request.emplace();
  cell.plan.request->first_step = 1;
  const auto verdict = cell.judge();
  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(result_of(verdict, "as_asked").reason, HasSubstr("first_step is 0, requested was 1"));
  EXPECT_EQ(result_of(verdict, "resume").outcome, Outcome::incomplete);
}

TEST(ResumeCheck, AReferenceThatBeginsLaterIsRefused) {
  SyntheticCell cell;
  begin_with_second_step(cell.reference);
  EXPECT_THAT(result_of(cell.judge(), "data").reason, HasSubstr("use the record that begins earlier as the reference"));
}

TEST(ResumeCheck, TwoRunsResumedAtTheSameStepAreFullyCompared) {
  GoneOnWith cell;
  begin_with_second_step(cell.reference);
  const auto verdict = cell.judge();
  EXPECT_THAT(with_outcome(verdict, Outcome::differs), IsEmpty());
  EXPECT_EQ(result_of(verdict, "resume").outcome, Outcome::holds);
}

}  // namespace
}  // namespace plumbline::testing
