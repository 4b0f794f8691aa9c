#include "reports/speed_plot.hpp"

#include <gmock/gmock.h>

#include "reports/plot/marks.hpp"
#include "reports/plot/svg.hpp"
#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<SpeedSeries> two_schedules{
    {"1f1b",
     {{.world = 1, .tokens_per_s = 100}, {.world = 2, .tokens_per_s = 150, .bubble = 0.2, .planned_bubble = 0.1}}},
    {"zb-v", {{.world = 2, .tokens_per_s = 170, .recording = 0.125}}}};

TEST(SpeedPlot, NamesItsAxesAndSchedules) {
  const std::string svg = draw_speeds(two_schedules, 90, 2, "Speed, <model>");
  EXPECT_EQ(testing::parse_markup(svg, false).error, "");
  for (const char* text : {"tokens/s", "bubble, % of a rank", "recording, % of a step", "world size P", "1f1b", "zb-v",
                           "the reference", "Speed, &lt;model&gt;"})
    EXPECT_THAT(svg, HasSubstr(text));
}

TEST(SpeedPlot, SaysWhereRanksShareCores) {
  EXPECT_THAT(draw_speeds(two_schedules, 90, 1, "Speed"), HasSubstr("more ranks than cores"));
  EXPECT_THAT(draw_speeds(two_schedules, 90, 2, "Speed"), Not(HasSubstr("more ranks than cores")));
  EXPECT_THAT(draw_speeds(two_schedules, {}, {}, "Speed"), Not(HasSubstr("the reference")));
}

TEST(SpeedPlot, SignsAndLinesStandAtTheirValues) {
  const std::string svg = draw_speeds(two_schedules, 90, 1, "Speed");

  // Each panel is 252 wide and 190 high, from 66 to 256; world sizes from 0.5 to 2.5, the first schedule 0.1 before
  // its own. Of 183.6 tokens/s, 21.6 % and 13.5 %: 1.08 times the largest.
  EXPECT_THAT(svg, HasSubstr("M122.4 152.51m-3.5 0a")) << "100 tokens/s on one rank";
  EXPECT_THAT(svg, HasSubstr("M248.4 100.77m-3.5 0a")) << "150 on two";
  EXPECT_THAT(svg, HasSubstr("y1=\"162.86\"")) << "the reference's 90";
  EXPECT_THAT(svg, HasSubstr("M580.4 80.07m-3.5 0a")) << "a bubble of 20 % measured: a sign";
  EXPECT_THAT(svg, HasSubstr("d=\"M580.4 168.04\"")) << "of 10 % planned: a line";
  EXPECT_THAT(svg, HasSubstr("M937.6 80.07m-3.2 -3.2h6.4")) << "12.5 % of recording, by the second schedule";
  EXPECT_THAT(svg, HasSubstr("<line x1=\"198\" y1=\"66\"")) << "more than one rank is more than the cores";
}

TEST(SpeedPlot, AFasterReferenceLiesInThePlot) {
  EXPECT_THAT(draw_speeds(two_schedules, 400, 2, "Speed"), HasSubstr("y1=\"80.07\"")) << "190 / 1.08 above 256";
}

TEST(SpeedPlot, ASchedulesNameStandsBesideItsSign) {
  const std::string svg = draw_speeds(two_schedules, {}, {}, "Speed");

  EXPECT_THAT(svg, HasSubstr(plot::draw_points(0, {{12, 6}}) + plot::label(30, 10, "1f1b")));
  EXPECT_THAT(svg, HasSubstr(plot::draw_points(1, {{12, 6}}) + plot::label(30, 10, "zb-v")));
}

}  // namespace
}  // namespace plumbline
