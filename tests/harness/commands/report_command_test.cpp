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

TEST(ReportCommand, WritesThePageOfAVerdictAndJudgesNothing) {
  TemporaryFolder folder;
  write_sweep(folder / "now", false);

  const Result page = command_result(add_report_command, "report " + (folder / "now").string());

  EXPECT_EQ(page.code, 0) << page.said;
  EXPECT_THAT(page.said, HasSubstr("the records were not rejudged (plumbline judge does that)\nreport: " +
                                   (folder / "now/report.html").string() + "\n"));
  EXPECT_THAT(read_file(folder / "now/report.html"), HasSubstr("</span>Does not hold</h1>"));
}

}  // namespace
}  // namespace plumbline::testing
