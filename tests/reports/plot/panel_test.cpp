// SPDX-License-Identifier: BSD-3-Clause
#include "reports/plot/panel.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "reports/plot/marks.hpp"
#include "reports/plot/svg.hpp"
#include "tests/reports/well_formed.hpp"

namespace plumbline::plot {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Panel, ValuesMapToPlacesBetweenTheAxes) {
  const Panel panel({100, 10, 300, 110}, {2, 6, {}, ""}, {5, 7, {}, ""});

  EXPECT_EQ(panel.x(2), 100);
  EXPECT_EQ(panel.x(3), 150);
  EXPECT_EQ(panel.y(5), 110);
  EXPECT_EQ(panel.y(5.5), 85);
  EXPECT_EQ(panel.y(7), 10);
}

TEST(Panel, TicksAreAtTheirValuesAndLabelsAreEscaped) {
  const Panel panel({100, 10, 300, 110}, {0, 4, {{1, "one"}}, "x & y"}, {-1, 1, {{0, "zero"}}, "loss"});

  const std::string svg = panel.draw_axes("<title>");

  EXPECT_THAT(svg, HasSubstr("<text x=\"150\" y=\"127\" text-anchor=\"middle\">one</text>"));
  EXPECT_THAT(svg, HasSubstr("<text x=\"93\" y=\"64\" text-anchor=\"end\">zero</text>"));
  EXPECT_THAT(svg, HasSubstr(">x &amp; y</text>"));
  EXPECT_THAT(svg, HasSubstr(">&lt;title&gt;</text>"));
  EXPECT_EQ(testing::parse_markup(picture(400, 200, "p", svg), false).error, "");
}

TEST(Panel, LinesTicksAndLabelsAreInTheirPlaces) {
  const Panel panel({100, 10, 300, 110}, {0, 4, {{1, "one"}}, "step"}, {-1, 1, {{0, "zero"}, {1, "1"}}, "loss"});

  const std::string svg = panel.draw_axes();

  EXPECT_THAT(svg, HasSubstr("d=\"M100 60H300M100 10H300\"")) << "across, at 0 and at 1";
  EXPECT_THAT(svg, HasSubstr("d=\"M100 10V110H300M96 60h4M96 10h4M150 110v4\""));
  EXPECT_THAT(svg, HasSubstr("<text x=\"200\" y=\"146\" text-anchor=\"middle\">step</text>"));
  // To the left of the axis: 4 letters of 6.6, a tick of 4, and distances of 3 and 10.
  EXPECT_THAT(
      svg, HasSubstr("<text x=\"56.6\" y=\"60\" text-anchor=\"middle\" transform=\"rotate(-90 56.6 60)\">loss</text>"));
}

// An entry is 48 wide, and 6.6 for each letter.
TEST(Panel, LegendEntriesAreNextToEachOther) {
  const std::string svg = draw_legend(10, 5, 500, {{"", "a"}, {"", "bb"}, {"", "c"}});

  EXPECT_THAT(svg, HasSubstr("translate(10 5)\"><text x=\"30\" y=\"10\">a<"));
  EXPECT_THAT(svg, HasSubstr("translate(64.6 5)\"><text x=\"30\" y=\"10\">bb<"));
  EXPECT_THAT(svg, HasSubstr("translate(125.8 5)\"><text x=\"30\" y=\"10\">c<"));
}

TEST(Panel, ATooWideLegendContinuesBelow) {
  const std::vector<LegendEntry> entries{{"", "first"}, {"", "second"}};

  EXPECT_THAT(draw_legend(0, 5, 500, entries), Not(HasSubstr(" 23)")));
  EXPECT_THAT(draw_legend(0, 5, 100, entries), HasSubstr("translate(0 23)"));
  EXPECT_THAT(draw_legend(0, 5, 50, {{"", "first"}}), HasSubstr("translate(0 5)")) << "no row is left empty";
}

TEST(Svg, EachNumberIsInItsAttribute) {
  EXPECT_EQ(rectangle(1, 2, 3, 4, " fill=\"none\""),
            "<rect x=\"1\" y=\"2\" width=\"3\" height=\"4\" fill=\"none\"/>\n");
  EXPECT_EQ(line(1, 2, 3, 4, ""), "<line x1=\"1\" y1=\"2\" x2=\"3\" y2=\"4\"/>\n");
  EXPECT_THAT(picture(300, 200, "p", ""), StartsWith("<svg width=\"300\" height=\"200\" viewBox=\"0 0 300 200\""));
}

TEST(Svg, CoordinatesAreShort) {
  EXPECT_EQ(coordinate(1.5), "1.5");
  EXPECT_EQ(coordinate(100), "100");
  EXPECT_EQ(coordinate(-0.001), "0");
  EXPECT_EQ(coordinate(2.0 / 3), "0.67");
}

std::vector<std::string> texts(const std::vector<Tick>& ticks) {
  std::vector<std::string> all;
  for (const Tick& tick : ticks) all.push_back(tick.text);
  return all;
}

TEST(Axis, TicksAreRoundNumbersInsideTheRange) {
  EXPECT_THAT(texts(round_ticks(0, 10, 5)), ElementsAre("0", "2", "4", "6", "8", "10"));
  EXPECT_THAT(texts(round_ticks(4.93, 6.06, 6)), ElementsAre("5.0", "5.2", "5.4", "5.6", "5.8", "6.0"));
  EXPECT_THAT(texts(round_ticks(-0.03, 0.06, 4)), ElementsAre("0.00", "0.05"));
  EXPECT_THAT(texts(round_ticks(-2.1, 2.1, 5)), ElementsAre("-2", "-1", "0", "1", "2"));
}

TEST(Axis, StepsAreWholeNumbers) {
  EXPECT_THAT(texts(whole_ticks(0, 2, 14)), ElementsAre("0", "1", "2"));
  EXPECT_THAT(texts(whole_ticks(0, 99, 5)), ElementsAre("0", "20", "40", "60", "80"));
}

TEST(Axis, VeryLargeAndVerySmallNumbersAreWrittenShort) {
  EXPECT_THAT(texts(round_ticks(0, 4e9, 4)), ElementsAre("0", "1e+09", "2e+09", "3e+09", "4e+09"));
  EXPECT_THAT(texts(round_ticks(0, 4e-9, 4)), ElementsAre("0", "1e-09", "2e-09", "3e-09", "4e-09"));
}

TEST(Axis, AnEmptyRangeHasNoTicks) {
  for (const auto& [low, high] : {std::pair{1.0, 1.0}, {2, 1}, {NAN, 1}, {0, INFINITY}})
    EXPECT_THAT(round_ticks(low, high, 5), IsEmpty()) << low << " to " << high;
}

TEST(Axis, ARangeBelowTheResolutionOfDoublesTerminates) {
  EXPECT_LE(round_ticks(1e17, 1e17 + 16, 5).size(), 7U);
}

std::string data_of(const std::string& path) {
  const auto begin = path.find("d=\"") + 3;
  return path.substr(begin, path.find('"', begin) - begin);
}

TEST(Marks, PointsInTheSamePlaceAreDrawnOnce) {
  EXPECT_EQ(draw_points(0, {{1, 2}, {1, 2}, {1, 2.001}}), draw_points(0, {{1, 2}}));
  EXPECT_NE(draw_points(0, {{1, 2}, {1, 3}}), draw_points(0, {{1, 2}}));
}

TEST(Marks, ALineHasAGapWhereAValueIsNotFinite) {
  EXPECT_EQ(data_of(draw_line(0, {{0, 0}, {1, 1}, {2, NAN}, {3, 3}, {4, 5}})), "M0 0L1 1M3 3L4 5");
}

TEST(Marks, ALevelLineHasOnlyItsEnds) {
  EXPECT_EQ(data_of(draw_line(0, {{0, 5}, {1, 5}, {2, 5}, {3, 5}, {4, 7}})), "M0 5L3 5L4 7");
  EXPECT_EQ(data_of(draw_line(0, {{0, 7}, {1, 5}, {2, 5}, {3, 5}})), "M0 7L1 5L3 5");
  EXPECT_EQ(data_of(draw_line(0, {{0, 5}, {1, 5}, {2, NAN}, {3, 5}, {4, 5}})), "M0 5L1 5M3 5L4 5");
}

TEST(Marks, SeriesDifferInShapeAndInDashesToo) {
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(data_of(draw_points(i, {{9, 9}})), data_of(draw_points(j, {{9, 9}}))) << i << " and " << j;
      const auto dashes = [](std::size_t series) {
        const std::string line = draw_line(series, {{0, 0}, {1, 1}});
        const auto at = line.find("stroke-dasharray");
        return at == std::string::npos ? "" : line.substr(at);
      };
      EXPECT_NE(dashes(i), dashes(j)) << i << " and " << j;
    }
  }
}

TEST(Marks, SeriesDifferInColor) {
  EXPECT_THAT(draw_points(0, {{9, 9}}), HasSubstr("stroke=\"#0072B2\""));
  EXPECT_THAT(draw_line(1, {{0, 0}, {1, 1}}), HasSubstr("stroke=\"#D55E00\""));
}

TEST(Marks, AnEmptySeriesMakesNoElement) {
  EXPECT_EQ(draw_points(0, {{NAN, 1}}), "");
  EXPECT_EQ(draw_points(0, {{1, INFINITY}}), "");
  EXPECT_EQ(draw_line(0, {}), "");
}

}  // namespace
}  // namespace plumbline::plot
