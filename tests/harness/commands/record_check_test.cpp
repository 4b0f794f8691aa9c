// SPDX-License-Identifier: BSD-3-Clause
#include "harness/commands/record_check.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SyntheticRun;
using testing::TemporaryFolder;

TEST(RecordCheck, ReportsWhatWasJudged) {
  const TemporaryFolder folder;
  write_run(testing::synthetic_candidate({}), folder / "record");

  const RecordCheck check = check_record(folder / "record");

  EXPECT_TRUE(check.holds());
  EXPECT_THAT(to_text(check), AllOf(HasSubstr("pipeline, level full, float32, adamw, 2 ranks, 2 steps"),
                                    HasSubstr(" crossings, "), HasSubstr("\nHOLDS\n")));
  const Json json = to_json(check);
  EXPECT_EQ(json.at("schema"), "plumbline-record-check/1");
  EXPECT_EQ(json.at("holds"), true);
  EXPECT_GT(json.at("audit").at("recomputed").at("numbers"), 0);
}

TEST(RecordCheck, NamesFileRankStepAndWhatWasExpected) {
  const TemporaryFolder folder;
  SyntheticRun run = testing::synthetic_candidate({});
  run.ranks[0].steps[0].clip_coefficient = 0.75;
  write_run(run, folder / "record");

  const RecordCheck check = check_record(folder / "record");

  EXPECT_FALSE(check.holds());
  EXPECT_THAT(to_text(check), AllOf(HasSubstr("rank-0/steps.csv:2: step 0, rank 0, clip_coefficient: "),
                                    HasSubstr("(expected 0.5, got 0.75)"), HasSubstr("\nDOES NOT HOLD\n")));
  const Json json = to_json(check), expected = {{"place", "norm"},
                                                {"file", "rank-0/steps.csv:2"},
                                                {"step", 0},
                                                {"rank", 0},
                                                {"stage", nullptr},
                                                {"microbatch", nullptr},
                                                {"item", "clip_coefficient"},
                                                {"expected", "0.5"},
                                                {"got", "0.75"},
                                                {"why", "it is not min(1, limit / norm) of this row's norm"}};
  EXPECT_EQ(json.at("audit").at("findings"), Json::array({expected}));
  EXPECT_EQ(json.at("holds"), false);
}

TEST(RecordCheck, AFolderWithoutARecordIsAnInputError) {
  const TemporaryFolder folder;
  EXPECT_THAT(testing::error_of<InputError>([&] { check_record(folder / "nothing"); }),
              HasSubstr("nothing: is not a folder; give the folder that contains manifest.json"));
}

TEST(RecordCheck, CountsTheStepsOfAResumedRun) {
  const TemporaryFolder folder;
  SyntheticRun run = testing::synthetic_candidate({});
  run.manifest["first_step"] = 1;
  run.manifest["resumed_from"] = {{"run_id", "before"}, {"step", 1}};
  for (auto& rank : run.ranks) {
    std::erase_if(rank.steps, [](const StepRow& row) { return row.step == 0; });
    std::erase_if(rank.tensors, [](const TensorRow& row) { return row.step == 0; });
  }
  testing::write_run(run, folder / "record");

  EXPECT_EQ(check_record(folder / "record").steps(), testing::synthetic_steps - 1);
}

TEST(RecordCheck, ReportsTheFirstFindingsAndCountsTheRest) {
  RecordCheck check;
  check.manifest.json = {{"optimizer", {{"name", "sgd"}}}};
  check.report.findings.resize(25);
  for (std::size_t i = 0; i < 25; ++i) check.report.findings[i].item = "item " + std::to_string(i + 1) + ";";

  EXPECT_THAT(to_text(check), AllOf(HasSubstr("item 20;"), Not(HasSubstr("item 21;")), HasSubstr(", 25 findings\n"),
                                    HasSubstr("and 5 more (--json lists them all)")));
  EXPECT_EQ(to_json(check).at("audit").at("findings").size(), 25U);
  check.report.findings.resize(20);
  EXPECT_THAT(to_text(check), Not(HasSubstr("more (--json")));
}

}  // namespace
}  // namespace plumbline
