// SPDX-License-Identifier: BSD-3-Clause
// The commands on a baseline: saved once, compared, changed with a reason.
#include "harness/baseline/baseline.hpp"
#include "harness/commands/commands.hpp"
#include "tests/harness/commands/finished_sweep.hpp"

namespace plumbline::testing {
namespace {

class BaselineCommand : public FinishedSweepFolder {
 protected:
  BaselineCommand() {
    for (const char* launch : {"reference-r", "c"})  // what was asked tells which runs are the same
      write_json(out_ / "launches" / launch / "request.json",
                 {{"schema", "plumbline-request/1"}, {"seed", cell_.candidate.manifest.at("seed")}});
    judge_records();
  }
  /// Both trainers compute something else, and the same: the sweep holds.
  void train_otherwise() {
    for (auto* run : {&cell_.reference, &cell_.candidate})
      tensor_row(*run, 1, "parameter", "model.norm.weight").digest = other_digest;
    write_records();
    judge_records();
  }
  std::filesystem::path kept_file() const { return folder_ / "kept/release.json"; }
  /// `release` is kept, and then says that its commit was "old" and the first loss 9.5.
  void keep_another_loss() {
    of_release("save");
    Json kept = read_json(kept_file());
    kept["commit"] = "old";
    kept["references"][0]["losses"][0] = "9.5";
    write_json(kept_file(), kept);
  }
  Result run(const std::string& words, const std::string& rest = "") {
    return result_of(add_baseline_command,
                     "baseline " + words + " --baselines " + (folder_ / "kept").string() + " " + rest);
  }
  /// `save release <sweep>`, and so on.
  Result of_release(const std::string& what, const std::string& rest = "") {
    return run(what + " release " + out_.string(), rest);
  }
};

TEST_F(BaselineCommand, IsKeptOnceAndListed) {
  EXPECT_THAT(run("list").said, HasSubstr("no baseline in "));
  const Result saved = of_release("save");
  EXPECT_EQ(saved.code, 0) << saved.said;
  EXPECT_THAT(saved.said, HasSubstr("baseline release: 1 reference and 1 case of sweep kept"));

  const Result again = of_release("save");
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.said, HasSubstr("exists; plumbline baseline accept release "));
  EXPECT_THAT(run("list").said, HasSubstr("release: sweep kept, 1 case, "));
}

TEST_F(BaselineCommand, AnEqualSweepHoldsAndLeavesTheComparisonForThePage) {
  of_release("save");

  const Result equal = of_release("compare");

  EXPECT_EQ(equal.code, 0) << equal.said;
  const Json kept = read_json(out_ / "baseline.json");
  EXPECT_EQ(kept.at("baseline"), "release");
  EXPECT_EQ(kept.at("holds"), true);
  EXPECT_EQ(Json::parse(of_release("compare", "--json").said), kept);
}

TEST_F(BaselineCommand, OtherBitsEndWithOneUnlessTheyAreAllowedForAReason) {
  of_release("save");
  train_otherwise();

  EXPECT_EQ(of_release("compare").code, 1);
  EXPECT_EQ(read_json(out_ / "baseline.json").at("holds"), false);
  const Result silent = of_release("compare", "--allow bits");
  EXPECT_EQ(silent.code, 2);
  EXPECT_THAT(silent.said, HasSubstr("--allow needs --reason"));
  EXPECT_EQ(of_release("compare", "--allow bytes --reason another").code, 1);
  const Result allowed = of_release("compare", "--allow bits --reason summation");
  EXPECT_EQ(allowed.code, 0) << allowed.said;
  const Json kept = read_json(out_ / "baseline.json");
  EXPECT_EQ(kept.at("allowed"), Json::array({"bits"}));
  EXPECT_EQ(kept.at("reason"), "summation");
}

TEST_F(BaselineCommand, AcceptedItTakesThePlaceOfTheOldOneAndTheReasonStays) {
  of_release("save");
  train_otherwise();

  const Result accepted = of_release("accept", "--reason summation");

  EXPECT_EQ(accepted.code, 0) << accepted.said;
  EXPECT_EQ(of_release("compare").code, 0);
  EXPECT_THAT(run("list").said, AllOf(HasSubstr("\n  accepted at "), HasSubstr(": summation (2 changes)\n")));
}

TEST_F(BaselineCommand, ABaselineThatIsNotThereIsRefused) {
  const Result none = of_release("compare");

  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.said, HasSubstr("there is no such baseline"));
}

TEST_F(BaselineCommand, ANameIsAWordThatIsNotHiddenAndLeadsNowhere) {
  EXPECT_EQ(run("save ../release " + out_.string()).code, 2);
  for (const std::string name : {"../release", "a/../../b", "a/b", ".hidden", "a:b", "caf\xc3\xa9"}) {
    EXPECT_THAT(run("save " + name + " " + out_.string()).said,
                EndsWith("\" is not a name of a baseline: give letters, digits, dots, dashes, underscores"))
        << name;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "kept"));
  EXPECT_EQ(run("save v1.2-of_may " + out_.string()).code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "kept/v1.2-of_may.json"));
}

TEST_F(BaselineCommand, CellsAndReferencesAreCountedAndAllBaselinesListedByName) {
  add_cell(out_);
  EXPECT_THAT(of_release("save").said, HasSubstr(": 1 reference and 2 cases of sweep kept, "));
  run("save before " + out_.string());
  folder_.file("kept/README.md", "what these are");

  const std::string listed = run("list").said;

  EXPECT_THAT(listed, AllOf(HasSubstr("before: sweep kept, 2 cases, "), HasSubstr("release: sweep kept, 2 cases, ")));
  EXPECT_LT(listed.find("before: "), listed.find("release: "));
}

TEST_F(BaselineCommand, WhatIsKeptStandsAsBeforeAndTheSweepAsNow) {
  keep_another_loss();

  const Result changed = run("compare --allow coverage --reason why release " + out_.string());

  EXPECT_EQ(changed.code, 1) << changed.said;
  EXPECT_THAT(changed.said, HasSubstr("loss of step 0: 9.5 before, "));
  EXPECT_EQ(run("compare --reason why --allow bits release " + out_.string()).code, 0) << "the name is no kind";
}

TEST_F(BaselineCommand, WhereNothingWasComparableItEndsWithThree) {
  of_release("save");
  Json kept = read_json(kept_file());
  for (const char* runs : {"references", "cells"}) kept[runs][0]["asked"] = "of another run";
  write_json(kept_file(), kept);

  EXPECT_EQ(of_release("compare").code, 3);
}

TEST_F(BaselineCommand, EachAcceptedChangeIsKeptWithItsCommitItsReasonAndWhereItWas) {
  Verdict verdict = read_verdict(out_ / "verdict.json");
  verdict.machine["versions"] = {{"commit", "new"}};
  write_verdict(out_ / "verdict.json", verdict);
  keep_another_loss();

  EXPECT_THAT(of_release("accept", "--reason first").said, HasSubstr("9.5 before, "));
  of_release("accept", "--reason second");

  const std::vector<AcceptedChange> accepted = read_baseline(kept_file()).accepted;
  ASSERT_THAT(accepted, SizeIs(2));
  EXPECT_EQ(accepted[0].commit, "new");
  EXPECT_EQ(accepted[0].reason, "first");
  EXPECT_THAT(accepted[0].changes, Contains(StartsWith("r: loss of step 0: 9.5 before, ")));
  EXPECT_EQ(accepted[1].reason, "second");
  EXPECT_THAT(accepted[1].changes, IsEmpty());
}

}  // namespace
}  // namespace plumbline::testing
