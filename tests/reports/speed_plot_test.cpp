#include "reports/speed_plot.hpp"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace plumbline
