// SPDX-License-Identifier: BSD-3-Clause
#include "harness/commands/record_check.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "tests/harness/judge/audit/trained_run.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Mistake;
using ::testing::Not;
using testing::SyntheticRun;
using testing::TemporaryFolder;
using testing::TrainedRun;

std::filesystem::path write(const TemporaryFolder& folder, const std::string& optimizer, Mistake mistake) {
  TrainedRun trained{testing::synthetic_candidate(testing::trained_plan(optimizer, true)), "float32", mistake};
  return trained.write(folder / "record");
}

TEST(RecordCheck, TellsWhatWasRecomputedAndWhatItCouldSee) {
  const TemporaryFolder folder;

  const RecordCheck check = check_record(write(folder, "adamw", Mistake::none));

  EXPECT_TRUE(check.holds());
  EXPECT_THAT(to_text(check), AllOf(HasSubstr("pipeline, level dump, float32, adamw, 2 ranks, 2 steps"),
                                    HasSubstr("tables and dumped values"), HasSubstr("layers.*.mlp.up_proj.weight"),
                                    HasSubstr("applied twice 96"), HasSubstr("\nHOLDS\n")));
  const Json json = to_json(check);
  EXPECT_EQ(json.at("schema"), "plumbline-record-check/1");
  EXPECT_EQ(json.at("holds"), true);
  EXPECT_GT(json.at("audit").at("power").at("norm.weight").at("tells").at("no update"), 0);
}

TEST(RecordCheck, NamesFileRankStepAndWhatWasExpected) {
  const TemporaryFolder folder;

  const RecordCheck check = check_record(write(folder, "sgd", Mistake::clip_with_epsilon));

  EXPECT_FALSE(check.holds());
  EXPECT_THAT(to_text(check), AllOf(HasSubstr("rank-0/steps.csv:2: step 0, rank 0, clip_coefficient: "),
                                    HasSubstr("(expected "), HasSubstr("\nDOES NOT HOLD\n")));
  const Json finding = to_json(check).at("audit").at("findings").at(0);
  EXPECT_EQ(finding.at("place"), "norm");
  EXPECT_EQ(finding.at("file"), "rank-0/steps.csv:2");
  EXPECT_EQ(finding.at("step"), 0);
  EXPECT_EQ(finding.at("rank"), 0);
  EXPECT_EQ(finding.at("item"), "clip_coefficient");
  EXPECT_EQ(finding.at("expected"), check.audit.findings[0].expected);
  EXPECT_EQ(finding.at("got"), check.audit.findings[0].got);
  EXPECT_NE(finding.at("expected"), finding.at("got"));
  EXPECT_EQ(to_json(check).at("holds"), false);
}

TEST(RecordCheck, TellsAnEvaluationByItsPlace) {
  const TemporaryFolder folder;
  SyntheticRun run = testing::synthetic_candidate({});
  run.manifest["evaluation"] = {{"every", 0}, {"microbatches", 1}};
  run.ranks.back().evaluation = {{1, 0, 2, 1, 0.5F, testing::other_digest}, {1, std::nullopt, 2, 1, 0.25F, ""}};
  write_run(run, folder / "record");

  const RecordCheck check = check_record(folder / "record");

  EXPECT_FALSE(check.holds());
  const Json findings = to_json(check).at("audit").at("findings");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.at(0).at("place"), "evaluation");
}

TEST(RecordCheck, SaysWhatALevelDoesNotHold) {
  const TemporaryFolder folder;
  TrainedRun trained{testing::synthetic_candidate(testing::trained_plan("adamw", true))};
  const auto path = trained.write(folder / "dumped");
  trained.run.manifest["level"] = "full";
  trained.run.manifest.erase("learning_rate_schedule");  // as a record of schema 1 may
  trained.run.manifest["schema"] = "plumbline-record/1";
  trained.run.manifest["data"]["digest"] = "d";
  testing::write_run(trained.run, folder / "full");

  const std::string text = to_text(check_record(folder / "full"));

  EXPECT_THAT(text,
              AllOf(HasSubstr("tables only"), HasSubstr("not recomputed: values: a record of level full"),
                    HasSubstr("not recomputed: learning rates"), HasSubstr("\nHOLDS\n"), Not(HasSubstr("Coverage:"))));
}

TEST(RecordCheck, ARecordThatCannotBeReadIsAnInputError) {
  const TemporaryFolder folder;
  const auto path = write(folder, "adamw", Mistake::none);
  folder.file("record/rank-1/dumps/step-1.safetensors", "cut off");

  EXPECT_THROW(check_record(path), InputError);
  EXPECT_THAT(testing::error_of<InputError>([&] { check_record(folder / "nothing"); }),
              HasSubstr("nothing: is not a folder; give the folder that holds manifest.json"));
}

TEST(RecordCheck, CountsTheStepsThatARunWentOnWith) {
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

TEST(RecordCheck, OfManyFindingsTheFirstAreToldAndTheRestIsCounted) {
  RecordCheck check;
  check.manifest.json = {{"optimizer", {{"name", "sgd"}}}};
  check.audit.findings.resize(25);
  for (std::size_t i = 0; i < 25; ++i) check.audit.findings[i].item = "item " + std::to_string(i + 1) + ";";

  EXPECT_THAT(to_text(check), AllOf(HasSubstr("item 20;"), Not(HasSubstr("item 21;")), HasSubstr(", 25 findings\n"),
                                    HasSubstr("and 5 more (--json lists them all)")));
  EXPECT_EQ(to_json(check).at("audit").at("findings").size(), 25U);
  check.audit.findings.resize(20);
  EXPECT_THAT(to_text(check), Not(HasSubstr("more (--json")));
}

TEST(RecordCheck, WhatCouldNotBeSeenIsTold) {
  RecordCheck check;
  check.manifest.json = {{"optimizer", {{"name", "sgd"}}}};
  check.audit.power["norm.weight"] = {4, {{"applied twice", 0}}};

  EXPECT_THAT(to_text(check), HasSubstr("not covered here: \"applied twice\" would be detected in no parameter"));
  EXPECT_EQ(to_json(check).at("audit").at("cannot_see").size(), 2U);
}

}  // namespace
}  // namespace plumbline
