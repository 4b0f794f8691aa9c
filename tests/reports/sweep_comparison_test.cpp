// SPDX-License-Identifier: BSD-3-Clause
#include "reports/sweep_comparison.hpp"

#include <gmock/gmock.h>

#include "tests/reports/page_sections.hpp"
#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(CellChanges, NameVerdictsChecksAndCellsOfOneAlone) {
  Verdict before = testing::sample_verdict(2), now = before;
  testing::break_check(now, 1, "loss");
  now.cells.erase(now.cells.begin());
  now.cells.push_back(testing::holding_cell("new", "sgd", "zb-v", 4));

  const auto changes = cell_changes(before, now);

  ASSERT_THAT(changes, SizeIs(3));
  EXPECT_EQ(changes[0].name, "stories260k, adamw, afab, P = 2");
  EXPECT_EQ(changes[0].before, "holds");
  EXPECT_EQ(changes[0].now, "does not hold");
  EXPECT_THAT(changes[0].checks, ElementsAre("loss: holds before, fails now"));
  EXPECT_EQ(changes[1].name, "new, sgd, zb-v, P = 4");
  EXPECT_EQ(changes[1].before, "-");
  EXPECT_EQ(changes[2].name, "stories260k, adamw, afab, P = 1");
  EXPECT_EQ(changes[2].now, "-");
}

TEST(ComparisonPage, SaysThatAllIsTheSame) {
  const Verdict verdict = testing::sample_verdict(1);
  BaselineResult equal;
  equal.compared = "3 runs";

  const std::string page = make_comparison_page(verdict, verdict, {equal, ""});

  EXPECT_THAT(page, HasSubstr("</span>The same verdict in every case</h1>"));
  EXPECT_THAT(page, HasSubstr("Compared: 3 runs. <b>All equal.</b>"));
  EXPECT_THAT(page, Not(HasSubstr("band bad")));
  EXPECT_EQ(testing::parse_markup(page, true).error, "");
  EXPECT_EQ(page, make_comparison_page(verdict, verdict, {equal, ""}));
  EXPECT_THAT(make_comparison_page(verdict, verdict, {BaselineResult{}, ""}),
              HasSubstr("Compared: nothing was comparable.</p>"));
}

TEST(ComparisonPage, ShowsWhatChangedAndWhyValuesWereNotCompared) {
  Verdict before = testing::sample_verdict(1), now = before;
  testing::break_check(now, 0, "loss");
  now.cells[0].schedule = before.cells[0].schedule = "<b>";
  now.machine["versions"]["libtorch"] = "2.12.0";
  before.machine["environment"]["OLD"] = "1";
  now.machine["environment"]["NEW"] = "2";

  const std::string page = make_comparison_page(before, now, {std::nullopt, "this sweep does not hold"});

  EXPECT_THAT(page, HasSubstr("</span>1 case does not hold any more</h1>"));
  EXPECT_THAT(page, HasSubstr("band bad"));
  EXPECT_THAT(testing::bare(page), HasSubstr("<tr><th>environment/NEW</th><td>-</td><td>2</td></tr>\n"
                                             "<tr><th>environment/OLD</th><td>1</td><td>-</td></tr>\n"
                                             "<tr><th>versions/libtorch</th><td>2.11.0</td><td>2.12.0</td></tr>"));
  EXPECT_THAT(page, HasSubstr("Not compared: this sweep does not hold"));
  EXPECT_THAT(page, HasSubstr("stories260k, adamw, &lt;b&gt;, P = 1"));
  EXPECT_EQ(testing::parse_markup(page, true).error, "");
}

TEST(CellChanges, ChecksOfOneAloneAndUnstableCellsAreNamed) {
  Verdict before = testing::sample_verdict(1), now = before;
  before.cells[0].checks.push_back(testing::holding_check("zz_old"));
  now.cells[0].checks.push_back(testing::holding_check("gpu_memory"));
  testing::break_check(before, 1, "loss");
  testing::break_check(now, 1, "loss");
  now.cells[1].second_run = SecondRun{SecondRun::Outcome::holds, ""};

  const auto changes = cell_changes(before, now);

  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_EQ(changes[0].before, "does not hold");
  EXPECT_EQ(changes[0].now, "unstable") << "what is red is first";
  EXPECT_THAT(changes[0].checks, IsEmpty());
  EXPECT_THAT(changes[1].checks,
              ElementsAre("gpu_memory: not there before, holds now", "zz_old: holds before, not there now"));
}

TEST(ComparisonPage, EachSideTellsItsVerdictItsCommitAndItsTime) {
  Verdict before = testing::sample_verdict(1), now = before;  // 12 cells of 2.5 s, 4 references of 1.5 s
  before.started = "2026-11-20";
  now.harness["commit"] = "ba9876543210";
  now.cells.pop_back();
  now.selection.cells = now.selection.of_cells = 11;

  const std::string page = testing::bare(make_comparison_page(before, now, {std::nullopt, "no records"}));

  EXPECT_THAT(page, HasSubstr("<tr><th>before</th><td>Holds: 12 of 12 cases</td><td>default, 2026-11-20</td>"
                              "<td>0123456789ab</td><td>36.0 s</td></tr>\n"
                              "<tr><th>now</th><td>Holds: 11 of 11 cases</td><td>default, 2026-11-21T12:00:00Z</td>"
                              "<td>ba9876543210</td><td>33.5 s</td></tr>"));
}

TEST(ComparisonPage, CountsWhatDoesNotHoldAnyMoreIsNewOrRedInBoth) {
  Verdict before = testing::sample_verdict(2);
  testing::break_check(before, 0, "loss");
  testing::break_check(before, 4, "loss");
  Verdict now = before;
  now.cells[4] = testing::sample_verdict(2).cells[4];
  for (const std::size_t cell : {1U, 2U, 3U}) testing::break_check(now, cell, "memory");
  now.cells.push_back(testing::holding_cell("new", "sgd", "zb-v", 4));
  now.cells.push_back(testing::holding_cell("new", "sgd", "zb-v", 5));
  testing::break_check(now, now.cells.size() - 1, "loss");

  const std::string page = make_comparison_page(before, now, {std::nullopt, ""}, {"a/report.html", "../b/report.html"});

  EXPECT_THAT(page, HasSubstr("</span>3 cases do not hold any more, 1 new case does not hold, 1 case does not hold in "
                              "both, 1 case holds now, 1 new case holds</h1>"));
  EXPECT_THAT(
      testing::bare(page),
      HasSubstr("<li><b>17</b><span>hold now</span></li><li><b>3</b><span>do not hold any more</span></li><li>"
                "<b>1</b><span>do not hold in both</span></li><li><b>2</b><span>are new</span></li><li><b>0</b>"));
  EXPECT_THAT(page,
              HasSubstr("<a href=\"../b/report.html#c21\">new, sgd, zb-v, P = 5</a></th><td>-</td><td class=\"fail"
                        "\">does not hold</td>"));
  EXPECT_THAT(page, HasSubstr("<a href=\"a/report.html\">before</a>"));
}

TEST(ComparisonPage, ACellThatIsGoneIsForTheWorse) {
  Verdict before = testing::sample_verdict(1), now = before;
  now.cells.pop_back();

  const std::string page = make_comparison_page(before, now, {std::nullopt, ""});

  EXPECT_THAT(page, HasSubstr("</span>1 case was not run any more</h1>"));
  EXPECT_THAT(page, HasSubstr("<header class=\"band bad\">"));
  EXPECT_THAT(page, HasSubstr("<td>holds</td><td class=\"fail\">was not run</td>"));
}

TEST(ComparisonPage, OtherValuesAreNeverTheSame) {
  const Verdict verdict = testing::sample_verdict(1);
  BaselineResult values;
  values.compared = "3 runs";
  values.changes = {{"bits", "cell-1", "loss of step 2"}};

  const std::string page = make_comparison_page(verdict, verdict, {values, ""});

  EXPECT_THAT(page, HasSubstr("</span>1 run has other bits or bytes</h1>"));
  EXPECT_THAT(page, HasSubstr("<header class=\"band bad\">"));
  EXPECT_THAT(page, HasSubstr("<td>bits</td><td>cell-1</td><td>loss of step 2</td>"));
  EXPECT_THAT(page, Not(HasSubstr("All equal")));
}

}  // namespace
}  // namespace plumbline
