// SPDX-License-Identifier: BSD-3-Clause

#include "harness/commands/commands.hpp"
#include "tests/harness/commands/finished_sweep.hpp"

namespace plumbline::testing {
namespace {

/// A sweep of one cell without records.
void write_sweep(const std::filesystem::path& folder, bool holds) {
  CellVerdict cell;
  cell.id = "tiny-w2";
  cell.run = cell.model = "tiny";
  cell.optimizer = "sgd";
  cell.schedule = "1f1b";
  cell.world = 2;
  cell.holds = holds;
  Verdict verdict;
  verdict.name = "tiny";
  verdict.holds = holds;
  verdict.machine = Json::object();
  verdict.cells = {cell};
  sum_up(verdict);
  make_folder(folder);
  write_verdict(folder / "verdict.json", verdict);
}

TEST(ReportCommand, AComparisonSaysWhatChangedAndWhyValuesWereNotCompared) {
  TemporaryFolder folder;
  write_sweep(folder / "before", true);
  write_sweep(folder / "now", false);

  const std::string page = comparison_page(folder / "before", folder / "now");

  EXPECT_THAT(page, HasSubstr("</span>1 case does not hold any more</h1>"));
  EXPECT_THAT(page, HasSubstr("tiny, sgd, 1f1b, P = 2"));
  EXPECT_THAT(page, HasSubstr("<p class=\"note\">Not compared: " + (folder / "before/cells/tiny-w2").string() +
                              ": holds no manifest.json"));
}

TEST(ReportCommand, AFolderWithoutAVerdictIsNoSweeps) {
  TemporaryFolder folder;
  write_sweep(folder / "before", true);

  EXPECT_THAT(error_of<InputError>([&] { comparison_page(folder / "before", folder / "nothing"); }),
              HasSubstr("verdict.json"));
}

TEST(ReportCommand, WritesAPageOrAComparisonFromTheFirstToTheOther) {
  TemporaryFolder folder;
  write_sweep(folder / "before", true);
  write_sweep(folder / "now", false);
  const auto run = [&](const std::string& words) { return result_of(add_report_command, "report " + words); };

  const Result page = run((folder / "now").string());
  EXPECT_EQ(page.code, 0) << "it writes, and judges nothing";
  EXPECT_THAT(page.said, HasSubstr("the records were not rejudged (plumbline judge does that)\nreport: " +
                                   (folder / "now/report.html").string() + "\n"));
  EXPECT_THAT(read_file(folder / "now/report.html"), HasSubstr("</span>Does not hold</h1>"));

  const std::string out = (folder / "c.html").string();
  const Result compared =
      run((folder / "before").string() + " --compare " + (folder / "now").string() + " --out " + out);
  EXPECT_EQ(compared.said, "comparison: " + out + "\n");
  EXPECT_THAT(read_file(out), HasSubstr("<a href=\"now/report.html#c0\">tiny, sgd, 1f1b, P = 2</a>"));
  EXPECT_THAT(read_file(out), Not(HasSubstr("before/report.html"))) << "it has none";
  EXPECT_THAT(read_file(out), HasSubstr("</span>1 case does not hold any more</h1>"));
  EXPECT_EQ(run((folder / "now").string() + " --out x.html").code, 2) << "without --compare";
}

/// Two sweeps that hold, with their records: of the second a cell was not run.
class ReportOfTwoSweeps : public FinishedSweepFolder {
 protected:
  ReportOfTwoSweeps() {
    judge_records();
    std::filesystem::copy(out_, before_, std::filesystem::copy_options::recursive);
    add_cell(before_);
  }
  const std::filesystem::path before_ = folder_ / "before";
};

TEST_F(ReportOfTwoSweeps, ValuesOfTheFirstAreHeldAgainstThoseOfTheOther) {
  const std::string words = "was run before but not now";

  EXPECT_THAT(comparison_page(before_, out_), HasSubstr(words));
  EXPECT_THAT(comparison_page(out_, before_), Not(HasSubstr(words)));
}

}  // namespace
}  // namespace plumbline::testing
