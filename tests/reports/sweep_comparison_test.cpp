#include "reports/sweep_comparison.hpp"

#include <gmock/gmock.h>

#include "tests/reports/sample_sweep.hpp"
#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(CellChanges, OfTheSameSweepThereAreNone) {
  const Verdict verdict = testing::sample_verdict(2);

  EXPECT_THAT(cell_changes(verdict, verdict), IsEmpty());
}

TEST(CellChanges, NameVerdictsChecksAndCellsOfOneAlone) {
  Verdict before = testing::sample_verdict(2), now = before;
  testing::break_check(now, 1, "loss");
  now.cells.erase(now.cells.begin());
  now.cells.push_back(testing::holding_cell("new", "sgd", "zb-v", 4));

  const auto changes = cell_changes(before, now);

  ASSERT_THAT(changes, SizeIs(3));
  EXPECT_EQ(changes[0].name, "stories260k/adamw/afab/P2");
  EXPECT_EQ(changes[0].before, "holds");
  EXPECT_EQ(changes[0].now, "does not hold");
  EXPECT_THAT(changes[0].checks, ElementsAre("loss: holds before, fails now"));
  EXPECT_EQ(changes[1].name, "new/sgd/zb-v/P4");
  EXPECT_EQ(changes[1].before, "-");
  EXPECT_EQ(changes[2].name, "stories260k/adamw/afab/P1");
  EXPECT_EQ(changes[2].now, "-");
}

TEST(ComparisonPage, SaysThatAllIsTheSame) {
  const Verdict verdict = testing::sample_verdict(1);
  BaselineResult equal;
  equal.compared = "3 runs";

  const std::string page = make_comparison_page(verdict, verdict, {equal, ""});

  EXPECT_THAT(page, HasSubstr("<h1>The same verdict in every cell</h1>"));
  EXPECT_THAT(page, HasSubstr("Compared: 3 runs. <b>All equal.</b>"));
  EXPECT_THAT(page, Not(HasSubstr("band bad")));
  EXPECT_EQ(testing::parse_markup(page, true).error, "");
  EXPECT_EQ(page, make_comparison_page(verdict, verdict, {equal, ""}));
}

TEST(ComparisonPage, ShowsWhatChangedAndWhyValuesWereNotCompared) {
  Verdict before = testing::sample_verdict(1), now = before;
  testing::break_check(now, 0, "loss");
  now.cells[0].schedule = before.cells[0].schedule = "<b>";
  now.machine["versions"]["libtorch"] = "2.12.0";

  const std::string page = make_comparison_page(before, now, {std::nullopt, "this sweep does not hold"});

  EXPECT_THAT(page, HasSubstr("<h1>1 cell changed, 1 for the worse</h1>"));
  EXPECT_THAT(page, HasSubstr("band bad"));
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\">versions/libtorch</th><td>2.11.0</td><td>2.12.0</td>"));
  EXPECT_THAT(page, HasSubstr("Not compared: this sweep does not hold"));
  EXPECT_THAT(page, HasSubstr("stories260k/adamw/&lt;b&gt;/P1"));
  EXPECT_EQ(testing::parse_markup(page, true).error, "");
}

}  // namespace
}  // namespace plumbline
