// SPDX-License-Identifier: BSD-3-Clause
// as_asked: learning rates near the end of a long schedule, where 1 + cosine cancels.
#include <gmock/gmock.h>

#include "harness/judge/judge.hpp"
#include "harness/judge/predicates/forms.hpp"
#include "support/files.hpp"
#include "support/numbers.hpp"
#include "tests/harness/judge/long_run.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

class LongSchedule : public ::testing::TestWithParam<std::int64_t> {
 protected:
  LongSchedule() {
    run_.steps = GetParam();
    run_.ranks = 3;
    run_.microbatches = 4;
    write_long_reference(run_, folder_ / "reference");
    write_long_pipeline(run_, folder_ / "candidate");
    const Manifest read = read_manifest(folder_ / "candidate");
    const Json& manifest = read.json;
    rates_ = predicates::learning_rate_form(read).value();
    plan_.checks = {"as_asked"};
    plan_.request.emplace();
    plan_.request->optimizer = manifest.at("optimizer");
    plan_.request->learning_rate_schedule = manifest.at("learning_rate_schedule");
  }

  /// Changes the candidate's rate of this step in the file, by this relative amount.
  void record_rate(std::int64_t step, double relative) {
    for (const char* rank : {"rank-0", "rank-1", "rank-2"}) {
      const fs::path path = folder_ / "candidate" / rank / "steps.csv";
      std::string text = read_file(path);
      const std::string right = to_text(rates_.at(step)), wrong = to_text(rates_.at(step) * (1 + relative));
      ASSERT_NE(right, wrong);
      const auto line = text.find("\n" + std::to_string(step) + ",") + 1, at = text.find(right, line);
      ASSERT_LT(at, text.find('\n', line));
      text.replace(at, right.size(), wrong);
      write_file(path, text);
    }
  }

  void call_external() {
    const fs::path path = folder_ / "candidate/manifest.json";
    Json manifest = read_json(path);
    manifest["role"] = "external";
    write_json(path, manifest);
  }

  CheckResult judged() const {
    return result_of(judge_cell(plan_, folder_ / "reference", folder_ / "candidate"), "as_asked");
  }

  LongRun run_;
  TemporaryFolder folder_;
  predicates::LearningRateForm rates_;
  CellPlan plan_;
};

TEST_P(LongSchedule, HoldsToItsEnd) {
  const CheckResult result = judged();

  EXPECT_EQ(result.outcome, Outcome::holds) << result.reason;
  EXPECT_EQ(result.compared.at("learning_rates"), 3 * run_.steps);
}

TEST_P(LongSchedule, FailsIfALateRateIsSlightlyOff) {
  const std::int64_t step = run_.steps - run_.steps / 20;
  record_rate(step, 1e-14);

  const CheckResult result = judged();

  EXPECT_EQ(result.outcome, Outcome::differs);
  ASSERT_TRUE(result.first_divergence);
  EXPECT_EQ(result.first_divergence->step, step);
  EXPECT_EQ(result.first_divergence->item, "learning_rate");
}

TEST_P(LongSchedule, AnExternalRateMayDifferInTheLastBitOfTheCosine) {
  const std::int64_t last = run_.steps - 1;
  call_external();
  record_rate(last, 0x1p-54 * rates_.peak / rates_.at(last));
  EXPECT_EQ(judged().outcome, Outcome::holds);

  const std::int64_t earlier = run_.steps / 2;
  record_rate(earlier, 1e-14);
  EXPECT_EQ(judged().outcome, Outcome::differs);
}

INSTANTIATE_TEST_SUITE_P(Steps, LongSchedule, ::testing::Values(800, 2000));

}  // namespace
}  // namespace plumbline::testing
