// Where a history's picture puts points, levels and changes: each at its value, worked out by hand.
#include "harness/history/speed_plot.hpp"

#include <gmock/gmock.h>

#include "tests/harness/history/rows.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string level = " stroke=\"#D55E00\" stroke-width=\"2.5\"";
const std::string dashed = " stroke=\"#D55E00\" stroke-width=\"1.4\" stroke-dasharray=\"5 4\"";

std::string line(const std::string& x1, const std::string& y1, const std::string& x2, const std::string& y2,
                 const std::string& look) {
  return "<line x1=\"" + x1 + "\" y1=\"" + y1 + "\" x2=\"" + x2 + "\" y2=\"" + y2 + "\"" + look;
}

// Between the axes 900 x 230 pixels from (80, 254) up, 225 for each of four points: 192.5, 417.5, 642.5, 867.5. Speeds
// from 1 to 2, 0.12 of that above and below.
class HistorySpeedPlot : public ::testing::Test {
 protected:
  HistorySpeedPlot() {
    for (const double speed : {1.0, 1.5, 2.0, 2.0}) {
      rows_.push_back(history_row_of(static_cast<int>(rows_.size()), speed));
      rows_.back().speed = SpeedRatio{speed, std::nullopt, std::nullopt, 1};
    }
  }
  std::string drawn() {
    RunSeries series;
    for (const HistoryRow& row : rows_) {
      series.rows.push_back(&row);
      series.timed.push_back(&row);
    }
    series.speed_changes = changes_;
    return draw_speeds(series);
  }

  std::vector<HistoryRow> rows_;
  std::vector<LevelChange> changes_;
};

TEST_F(HistorySpeedPlot, PointsStandAtTheirValuesAndDates) {
  const std::string svg = drawn();

  EXPECT_THAT(svg, HasSubstr("\"M192.5 231.74m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0M417.5 139m-3.5"));
  EXPECT_THAT(svg, HasSubstr("M642.5 46.26m-3.5"));
  EXPECT_THAT(svg, HasSubstr("<text x=\"192.5\" y=\"271\" text-anchor=\"middle\">2026-01-01</text>"));
  EXPECT_THAT(svg, HasSubstr("<text x=\"867.5\" y=\"271\" text-anchor=\"middle\">2026-01-04</text>"));
  EXPECT_THAT(svg, AllOf(HasSubstr("point, in the order of time"), HasSubstr("tokens/s over the reference"),
                         HasSubstr("Speed of quick-1f1b-w2 over time, 0 changes found")));
  EXPECT_THAT(svg, AllOf(Not(HasSubstr("#D55E00")), Not(HasSubstr("#888888"))));
}

TEST_F(HistorySpeedPlot, AnIntervalIsALineThroughItsPointAndLiesInThePicture) {
  rows_[0].speed = SpeedRatio{1.0, 0.5, 1.25, 5};
  rows_[3].speed = SpeedRatio{2.0, 1.75, 2.5, 5};

  const std::string svg = drawn();

  // from 0.5 to 2.5, and 0.24 more at either end
  EXPECT_THAT(svg, HasSubstr(line("192.5", "231.74", "192.5", "162.19", " stroke=\"#888888\" stroke-width=\"1.4\"")));
  EXPECT_THAT(svg, HasSubstr(line("867.5", "115.81", "867.5", "46.26", " stroke=\"#888888\"")));
}

TEST_F(HistorySpeedPlot, StepsHaveTheLevelsOnEitherSideAndALabel) {
  changes_ = {{.begin = 0, .first = 1, .before = 1, .after = 1.5}, {.begin = 2, .first = 3, .before = 1.5, .after = 2}};
  rows_[3].commit = "";

  const std::string svg = drawn();

  EXPECT_THAT(svg, HasSubstr(line("192.5", "231.74", "192.5", "231.74", level))) << "one point before the first";
  EXPECT_THAT(svg, HasSubstr(line("417.5", "139", "642.5", "139", level))) << "between both";
  EXPECT_THAT(svg, HasSubstr(line("867.5", "46.26", "867.5", "46.26", level))) << "after the last";
  EXPECT_THAT(svg, HasSubstr(line("305", "24", "305", "254", dashed)));
  EXPECT_THAT(svg, HasSubstr(line("755", "24", "755", "254", dashed)));
  EXPECT_THAT(svg, HasSubstr("<text x=\"310\" y=\"36\">+50.0 % at c00001</text>"));
  EXPECT_THAT(svg, HasSubstr("<text x=\"750\" y=\"50\" text-anchor=\"end\">+33.3 % at 2026-01-04T10:00:00Z</text>"))
      << "a line below, left of it, and without a commit by its time";
  EXPECT_THAT(svg, HasSubstr("2 changes found"));
}

TEST_F(HistorySpeedPlot, ALevelGoesOnToTheNextChangeOrTheLastPoint) {
  changes_ = {{.begin = 1, .first = 2, .before = 1, .after = 2}};

  const std::string svg = drawn();

  EXPECT_THAT(svg, HasSubstr(line("192.5", "231.74", "417.5", "231.74", level)));
  EXPECT_THAT(svg, HasSubstr(line("642.5", "46.26", "867.5", "46.26", level)));
  EXPECT_THAT(svg, HasSubstr("1 change found"));
}

TEST_F(HistorySpeedPlot, ADriftIsALineFromItsBeginningToItsEnd) {
  changes_ = {{.kind = LevelChange::Kind::drift, .begin = 0, .first = 2, .before = 1, .after = 2}};

  const std::string svg = drawn();

  EXPECT_THAT(svg, AllOf(HasSubstr(line("192.5", "231.74", "642.5", "46.26", level)), Not(HasSubstr(dashed)),
                         Not(HasSubstr(" at c0"))));
}

TEST_F(HistorySpeedPlot, EqualSpeedsHaveRoomAboveAndBelow) {
  rows_.resize(1);
  EXPECT_THAT(drawn(), HasSubstr("\"M530 139m-3.5")) << "1 between 0.95 and 1.05";
}

TEST_F(HistorySpeedPlot, NoAxisBeginsBelowZero) {
  rows_.resize(2);
  rows_[0].speed = SpeedRatio{0.1, std::nullopt, std::nullopt, 1};
  rows_[1].speed = SpeedRatio{5.1, std::nullopt, std::nullopt, 1};
  EXPECT_THAT(drawn(), HasSubstr("\"M305 249.96m-3.5")) << "0.1 of 5.7";
}

TEST_F(HistorySpeedPlot, ManyPointsAreALineAndSevenDates) {
  rows_.clear();
  for (int day = 0; day < 400; ++day) rows_.push_back(history_row_of(0, 1.6 * hair(day)));
  EXPECT_THAT(drawn(), AllOf(HasSubstr("m-3.5 0a"), HasSubstr("stroke=\"#888888\"")));
  rows_.push_back(history_row_of(0, 1.6));
  const std::string svg = drawn();
  EXPECT_THAT(svg, AllOf(Not(HasSubstr("m-3.5 0a")), Not(HasSubstr("stroke=\"#888888\""))));
  std::size_t dates = 0;
  for (auto at = svg.find(">2026-01-01<"); at != std::string::npos; at = svg.find(">2026-01-01<", at + 1)) ++dates;
  EXPECT_EQ(dates, 7U);
}

TEST_F(HistorySpeedPlot, WithoutASpeedThereIsNone) {
  RunSeries untimed;
  untimed.rows.push_back(&rows_[0]);
  EXPECT_EQ(draw_speeds(untimed), "");
}

}  // namespace
}  // namespace plumbline::testing
