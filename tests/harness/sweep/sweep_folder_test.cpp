// SPDX-License-Identifier: BSD-3-Clause
// What a resumed sweep takes from its folder: nothing that was modified.
#include "harness/sweep/sweep_folder.hpp"

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::Key;
using ::testing::UnorderedElementsAre;

class FolderOfASweep : public ::testing::Test {
 protected:
  FolderOfASweep() { print_.runs = {{"reference-r", "1"}, {"c", "2"}}; }
  SweepFolder opened(bool resume) const { return {out_, "small", print_, resume, nullptr}; }
  std::string refusal(bool resume = true) const {
    return error_of<InputError>([&] { opened(resume); });
  }
  static CellVerdict verdict_on(const std::string& id) {
    CellVerdict verdict;
    verdict.id = id;
    verdict.holds = true;
    return verdict;
  }

  TemporaryFolder folder_;
  const fs::path out_ = folder_ / "out";
  SweepFingerprint print_;
};

TEST_F(FolderOfASweep, RunsOfAnotherSelectionStayInWhatItKeeps) {
  opened(false);
  print_.runs = {{"reference-r", "1"}, {"d", "3"}};

  opened(true);

  const Json kept = read_json(out_ / "sweep.json");
  std::map<std::string, std::string> runs = kept.at("fingerprint").at("runs");
  EXPECT_THAT(runs, UnorderedElementsAre(Key("reference-r"), Key("c"), Key("d")));
  print_.runs = {{"c", "other"}};
  EXPECT_THAT(refusal(), HasSubstr("what c was made from has changed"));
}

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

  EXPECT_THAT(refusal(), HasSubstr("sweep.json: is not as this program writes it"));
  EXPECT_THAT(error_of<InputError>([&] { SweepFolder{out_}; }),
              HasSubstr("sweep.json: is not as this program writes it"));
}

TEST_F(FolderOfASweep, AFileIsNone) {
  folder_.file("out", "mine");

  EXPECT_THAT(refusal(false), HasSubstr("is not a folder"));
  EXPECT_EQ(bytes_of(out_), "mine");
}

TEST_F(FolderOfASweep, AnEmptyOneIsTaken) {
  make_folder(out_);

  opened(false);

  EXPECT_TRUE(fs::exists(out_ / "sweep.json"));
}

// A verdict that was copied into another cell's folder is not that cell's.
TEST_F(FolderOfASweep, TheVerdictOnAnotherCellIsNoCells) {
  const SweepFolder folder = opened(false);
  folder.keep_cell(verdict_on("c"));
  EXPECT_TRUE(folder.finished_cell("c")->holds);
  EXPECT_FALSE(folder.finished_cell("d"));

  make_folder(folder.cell("d"));
  fs::copy(folder.cell("c") / "cell.json", folder.cell("d") / "cell.json");

  EXPECT_THAT(error_of<InputError>([&] { folder.finished_cell("d"); }),
              AllOf(HasSubstr("d/cell.json"), HasSubstr("does not hold the verdict on d")));
  Json two = read_json(folder.cell("c") / "cell.json");
  two["cases"].push_back(two["cases"][0]);
  write_json(folder.cell("c") / "cell.json", two);
  EXPECT_THAT(error_of<InputError>([&] { folder.finished_cell("c"); }), HasSubstr("is not as this program wrote it"));
}

// A leftover rank of an interrupted run would be judged with this one.
TEST_F(FolderOfASweep, NothingOfAnInterruptedRunStaysWhereTheNextOneWrites) {
  const SweepFolder folder = opened(false);
  folder_.file("out/cells/c/rank-7/exit.json", "{}");
  folder_.file("out/launches/c/finding.json", "{}");

  make_way(folder.cell("c"), folder.launch("c"));

  EXPECT_FALSE(fs::exists(folder.cell("c")));
  EXPECT_TRUE(fs::is_directory(folder.launch("c")));
  EXPECT_TRUE(fs::is_empty(folder.launch("c")));
}

TEST_F(FolderOfASweep, TheFindingOfAnInterruptedRunIsNone) {
  const SweepFolder folder = opened(false);
  make_folder(folder.launch("r"));
  LaunchFinding finding;
  finding.exit_code = 7;
  write_json(folder.launch("r") / "finding.json", to_json(finding));
  EXPECT_EQ(folder.finished_launch("r")->exit_code, 7);

  finding.interrupted = true;
  write_json(folder.launch("r") / "finding.json", to_json(finding));
  EXPECT_FALSE(folder.finished_launch("r"));
}

}  // namespace
}  // namespace plumbline::testing
