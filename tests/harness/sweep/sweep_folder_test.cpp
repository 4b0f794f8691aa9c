// SPDX-License-Identifier: BSD-3-Clause
// What a resumed sweep takes from its folder: nothing that was modified.
#include "harness/sweep/sweep_folder.hpp"

#include "harness/sweep/kept_verdict.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

class FolderOfASweep : public ::testing::Test {
 protected:
  SweepFolder opened(bool resume) const { return {out_, "small", nullptr, resume}; }
  std::string refusal(bool resume = true) const {
    return error_of<InputError>([&] { opened(resume); });
  }
  TemporaryFolder folder_;
  const fs::path out_ = folder_ / "out";
};

TEST_F(FolderOfASweep, ThatIsInUseIsRefused) {
  const SweepFolder first = opened(false);

  EXPECT_THAT(refusal(), HasSubstr(out_.string()));
  EXPECT_THAT(error_of<InputError>([&] { SweepFolder{out_}; }), HasSubstr(out_.string()));
}

TEST_F(FolderOfASweep, OfAnotherFormatIsRefused) {
  opened(false);
  Json kept = read_json(out_ / "sweep.json");
  kept["schema"] = "plumbline-sweep/0";
  write_json(out_ / "sweep.json", kept);

  EXPECT_THAT(refusal(), HasSubstr("sweep.json: was not written by this program"));
  EXPECT_THAT(error_of<InputError>([&] { SweepFolder{out_}; }),
              HasSubstr("sweep.json: was not written by this program"));
}

TEST_F(FolderOfASweep, AFileIsRefused) {
  folder_.file("out", "mine");

  EXPECT_THAT(refusal(false), HasSubstr("is not a folder"));
  EXPECT_EQ(bytes_of(out_), "mine");
}

TEST_F(FolderOfASweep, AnEmptyOneIsAccepted) {
  make_folder(out_);

  opened(false);

  EXPECT_TRUE(fs::exists(out_ / "sweep.json"));
}

// One that was edited, is another case's, another judge's, of another question or of a run of other inputs.
TEST_F(FolderOfASweep, AVerdictIsKeptWhileItsInputsAreTheSame) {
  const SweepFolder folder = opened(false);
  CellPlan plan;
  plan.id = "c";
  plan.command = "plumbline sweep";
  CellVerdict verdict;
  verdict.id = "c";
  verdict.holds = true;
  make_way(folder.cell("c"), folder.launch("c"), {{"the data", "d"}});
  keep_verdict(folder, plan, verdict, "judge");
  const auto is_kept = [&](const CellPlan& asked, const std::string& judge = "judge") {
    return kept_verdict(folder, asked, judge).has_value();
  };
  EXPECT_TRUE(is_kept(plan));
  EXPECT_FALSE(is_kept(plan, "another"));
  CellPlan other = plan;
  other.command = "plumbline sweep --jobs 2";
  EXPECT_TRUE(is_kept(other));
  other.checks = {"loss"};
  EXPECT_FALSE(is_kept(other));
  other = plan;
  other.id = "d";
  EXPECT_FALSE(is_kept(other));
  fs::copy(folder.cell("c"), folder.cell("d"));
  fs::copy(folder.launch("c"), folder.launch("d"));
  EXPECT_FALSE(is_kept(other));

  write_json(folder.launch("c") / "inputs.json", {{"the data", "x"}});
  EXPECT_FALSE(is_kept(plan));
  write_json(folder.launch("c") / "inputs.json", {{"the data", "d"}});
  EXPECT_TRUE(is_kept(plan));
  const fs::path file = folder.cell("c") / "cell.json";
  const Json written = read_json(file);
  Json edited = written, without_digest = written;
  edited["cases"][0]["world"] = 7;
  without_digest.erase("digest");
  for (const Json& changed : {edited, without_digest, Json::array()}) {
    write_json(file, changed);
    EXPECT_FALSE(is_kept(plan)) << changed.dump();
  }
}

// A leftover rank of an interrupted run would be judged with this one.
TEST_F(FolderOfASweep, AnInterruptedRunsFilesAreRemovedBeforeTheNext) {
  const SweepFolder folder = opened(false);
  folder_.file("out/cells/c/rank-7/exit.json", "{}");
  folder_.file("out/launches/c/finding.json", "{}");

  make_way(folder.cell("c"), folder.launch("c"), {{"the data", "d"}});

  EXPECT_FALSE(fs::exists(folder.cell("c")));
  EXPECT_TRUE(fs::is_directory(folder.launch("c")));
  EXPECT_FALSE(fs::exists(folder.launch("c") / "finding.json"));
  EXPECT_THAT(folder.inputs_of("c"), ElementsAre(Pair("the data", "d")));
}

TEST_F(FolderOfASweep, ARunIsCompleteIfItEndedAndItsInputsAreTheSame) {
  const SweepFolder folder = opened(false);
  const RunInputs inputs = {{"the data", "d"}};
  EXPECT_FALSE(folder.whole_launch("r", inputs)) << "it was not made";
  make_way(folder.cell("r"), folder.launch("r"), inputs);
  EXPECT_FALSE(folder.whole_launch("r", inputs)) << "it has not ended";
  LaunchFinding finding;
  finding.exit_code = 7;
  write_json(folder.launch("r") / "finding.json", to_json(finding));
  EXPECT_EQ(folder.whole_launch("r", inputs)->exit_code, 7);
  EXPECT_FALSE(folder.whole_launch("r", {{"the data", "x"}}));
  EXPECT_FALSE(folder.whole_launch("r", {}));

  write_file(folder.launch("r") / "finding.json", "{");
  EXPECT_FALSE(folder.whole_launch("r", inputs));
  finding.interrupted = true;
  write_json(folder.launch("r") / "finding.json", to_json(finding));
  EXPECT_FALSE(folder.whole_launch("r", inputs));
}

}  // namespace
}  // namespace plumbline::testing
