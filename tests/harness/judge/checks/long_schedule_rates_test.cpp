// SPDX-License-Identifier: BSD-3-Clause
// as_asked: learning rates near the end of a long schedule, where 1 + cosine cancels.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "harness/judge/judge.hpp"
#include "harness/judge/predicates/forms.hpp"
#include "record/manifest.hpp"
#include "support/numbers.hpp"
#include "tests/harness/judge/long_run.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/record_changes.hpp"

namespace plumbline::testing {
namespace {

class LongSchedule : public ::testing::TestWithParam<std::int64_t> {
 protected:
  LongSchedule() : cell_({.level = "summary"}) {
    repeat_steps(cell_.write_reference(), steps_);
    repeat_steps(cell_.write_candidate(), steps_);
    const Manifest read = read_manifest(candidate_);
    rates_ = predicates::learning_rate_form(read).value();
    plan_.checks = {"as_asked"};
    plan_.request.emplace();
    plan_.request->optimizer = read.json.at("optimizer");
    plan_.request->learning_rate_schedule = read.json.at("learning_rate_schedule");
  }

  /// Changes the candidate's rate of this step by this relative amount.
  void record_rate(std::int64_t step, double relative) {
    const double wrong = rates_.at(step) * (1 + relative);
    ASSERT_NE(wrong, rates_.at(step));
    change_record(candidate_, fmt::format("steps step={}: learning_rate={}", step, to_text(wrong)));
  }
  CheckResult judged() const {
    return result_of(judge_cell(plan_, cell_.folder / "reference", candidate_), "as_asked");
  }

  const std::int64_t steps_ = GetParam();
  SyntheticCell cell_;
  const std::filesystem::path candidate_ = cell_.folder / "candidate";
  predicates::LearningRateForm rates_;
  CellPlan plan_;
};

TEST_P(LongSchedule, HoldsToItsEnd) {
  const CheckResult result = judged();

  EXPECT_EQ(result.outcome, Outcome::holds) << result.reason;
  EXPECT_EQ(result.compared.at("learning_rates"), 2 * steps_);
}

TEST_P(LongSchedule, FailsIfALateRateIsSlightlyOff) {
  const std::int64_t step = steps_ - steps_ / 20;
  record_rate(step, 1e-14);

  const CheckResult result = judged();

  EXPECT_EQ(result.outcome, Outcome::differs);
  ASSERT_TRUE(result.first_divergence);
  EXPECT_EQ(result.first_divergence->step, step);
  EXPECT_EQ(result.first_divergence->item, "learning_rate");
}

TEST_P(LongSchedule, AnExternalRateMayDifferInTheLastBitOfTheCosine) {
  const std::int64_t last = steps_ - 1;
  change_record(candidate_, "manifest.json /role \"external\"");
  record_rate(last, 0x1p-54 * rates_.peak / rates_.at(last));
  EXPECT_EQ(judged().outcome, Outcome::holds);

  const std::int64_t earlier = steps_ / 2;
  record_rate(earlier, 1e-14);
  EXPECT_EQ(judged().outcome, Outcome::differs);
}

INSTANTIATE_TEST_SUITE_P(Steps, LongSchedule, ::testing::Values(800, 2000));

}  // namespace
}  // namespace plumbline::testing
