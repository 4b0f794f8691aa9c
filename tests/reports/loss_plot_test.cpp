// SPDX-License-Identifier: BSD-3-Clause
#include "reports/loss_plot.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/markup_text.hpp"
#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::times_in;

const Losses reference{{0, 6.0F}, {1, 5.5F}, {2, 5.0F}};

TEST(LossPlot, CountsDifferencesAndFindsTheLargest) {
  struct Case {
    const char* what;
    Losses reference, losses;
    std::int64_t compared, differing;
    double largest;
  };
  const std::vector<Case> cases = {
      {"one ULP", reference, {{0, 6.0F}, {1, std::nextafter(5.5F, 9.0F)}, {2, 5.0F}}, 3, 1, 0x1p-21},
      {"below the reference's", reference, {{1, 5.0F}}, 1, 1, 0.5},
      {"a step that one side lacks", reference, {{7, 5.0F}}, 0, 0, 0}};
  for (const auto& [what, of, losses, compared, differing, largest] : cases) {
    const LossDifference difference = loss_difference(of, losses);
    EXPECT_EQ(difference.compared, compared) << what;
    EXPECT_EQ(difference.differing, differing) << what;
    EXPECT_DOUBLE_EQ(difference.largest, largest) << what;
  }
  const LossDifference nan = loss_difference({{0, NAN}}, {{0, NAN}});
  EXPECT_EQ(nan.compared, 1);
  EXPECT_EQ(nan.differing, 1) << "even compared with NaN";
}

// The path of each point begins by moving the pen to its place.
constexpr const char* circle = "m-3.5 0a3.5 3.5";
constexpr const char* square = "m-3.2 -3.2h6.4v6.4h-6.4z";

TEST(LossPlot, EachSeriesShowsLossAndDifferenceAtEachStep) {
  const std::string svg = draw_losses(reference, {{"a", {{0, 6.0F}}}, {"b, P = 4", {{1, 5.75F}, {2, NAN}}}}, "t");
  EXPECT_EQ(times_in(svg, circle), 3U) << "loss, difference, legend";
  EXPECT_EQ(times_in(svg, square), 3U) << "NaN is not drawn";
  EXPECT_THAT(svg, HasSubstr(">b, P = 4</text>"));
  EXPECT_EQ(testing::parse_markup(svg, false).error, "");
  const std::string step_that_the_reference_lacks = draw_losses(reference, {{"a", {{7, 6.0F}}}}, "t");
  EXPECT_EQ(times_in(step_that_the_reference_lacks, circle), 2U) << "loss, legend";
}

// Three steps share 895 pixels from 90 on, each in the middle of its third; 5 and 6 are 0.06 of 1.12 from the ends of
// 182 pixels.
TEST(LossPlot, TheReferenceIsACurveWithABarAtEachStep) {
  for (const float gap : {NAN, INFINITY}) {  // the other points must not move
    const std::string svg = draw_losses({{10, 6.0F}, {11, gap}, {12, 5.0F}}, {}, "t");
    EXPECT_THAT(svg, HasSubstr("\"M239.17 59.75M835.83 222.25\""));
    // 0.35 of 298.33 pixels to either side
    EXPECT_THAT(svg, HasSubstr("\"M134.75 59.75H343.58M731.42 222.25H940.25\""));
  }
}

TEST(LossPlot, TheZeroLineIsInTheMiddle) {
  EXPECT_THAT(draw_losses(reference, {}, "t"), HasSubstr("<line x1=\"90\" y1=\"314\" x2=\"985\" y2=\"314\""));
}

TEST(LossPlot, PointsOfSeriesAreNextToEachOther) {
  const std::string svg = draw_losses(reference, {{"a", {{1, 5.5F}}}, {"a", {{1, 5.5F}}}}, "t");

  // 0.7 / 6 of 298.33 pixels to either side of the step
  EXPECT_THAT(svg, HasSubstr("M502.69 141" + std::string(circle)));
  EXPECT_THAT(svg, HasSubstr("M572.31 141" + std::string(square)));
}

TEST(LossPlot, APointIsOnTheBarExactlyIfItIsEqual) {
  const std::string equal = draw_losses(reference, {{"a", {{1, 5.5F}}}}, "t");
  const std::string apart = draw_losses(reference, {{"a", {{1, 5.25F}}}}, "t");

  // Losses from 5 to 6 with a margin of 0.06 at either end: 5.5 is in the middle of 50 and 232; so is the zero line of
  // 256 and 372.
  EXPECT_THAT(equal, HasSubstr("M537.5 141" + std::string(circle)));
  EXPECT_THAT(equal, HasSubstr("M537.5 314" + std::string(circle)));
  EXPECT_THAT(apart, Not(HasSubstr("M537.5 141" + std::string(circle))));
  EXPECT_THAT(apart, Not(HasSubstr("M537.5 314" + std::string(circle))));
}

TEST(LossPlot, ALargerLossIsHigherInBothHalves) {
  const std::string near = draw_losses(reference, {{"a", {{1, 5.75F}}}}, "t");
  const std::string far = draw_losses(reference, {{"a", {{1, 9.0F}}}}, "t");

  // The axis of differences ends at 1.15 times the largest, 116 pixels from 372 upwards.
  EXPECT_THAT(near, HasSubstr("M537.5 263.57" + std::string(circle))) << "0.25 of 0.2875 above 0";
  EXPECT_THAT(near, HasSubstr(">2.3e-01</text>"));
  EXPECT_THAT(far, HasSubstr("M537.5 59.75" + std::string(circle))) << "9 is within the plot's 4.76 to 9.24";
}

TEST(LossPlot, EqualLossesAreShownOnTheScaleOfOneUlp) {
  const std::string svg = draw_losses(reference, {{"a", reference}}, "t");

  EXPECT_THAT(svg, HasSubstr(">9.5e-07</text>")) << "0.8 of 2.5 units in the last place of 6.0, which is 2^-21";
  EXPECT_THAT(draw_losses({{0, 6.0F}, {1, 1.0F}}, {}, "t"), HasSubstr(">9.5e-07</text>"))
      << "an ulp of the largest loss";
}

TEST(LossPlot, TheLargestDifferenceOfAllPipelinesFits) {
  const std::string svg = draw_losses(reference, {{"a", {{1, 5.75F}}}, {"b", {{1, 5.5F}}}}, "t");

  EXPECT_THAT(svg, HasSubstr(">2.3e-01</text>")) << "0.8 of 1.15 times 0.25";
}

/// This many steps of falling losses.
Losses falling_losses(int steps) {
  Losses falling;
  for (int step = 0; step < steps; ++step) falling[step] = 6.0F - 0.01F * static_cast<float>(step);
  return falling;
}

TEST(LossPlot, UpTo24StepsArePoints) {
  const Losses most = falling_losses(24), more = falling_losses(25);

  EXPECT_EQ(times_in(draw_losses(most, {{"a", most}}, "t"), circle), 24U + 24U + 1U);
  EXPECT_EQ(times_in(draw_losses(more, {{"a", more}}, "t"), circle), 0U);
}

TEST(LossPlot, LongRunsDrawDifferencesAsLines) {
  const Losses falling = falling_losses(50);

  // 895 pixels from 90 on for 50 steps, 17.9 for each
  EXPECT_THAT(draw_losses(falling, {{"a", falling}}, "t"), HasSubstr("d=\"M98.95 314L976.05 314\""));
}

TEST(LossPlot, ALongLegendMovesThePlotDown) {
  const std::string label(60, 'x');  // two rows have room for two entries each
  const std::string low = draw_losses(reference, {{label, reference}, {label, reference}}, "t", label);
  const std::string high = draw_losses(
      reference, {{label, reference}, {label, reference}, {label, reference}, {label, reference}}, "t", label);

  EXPECT_THAT(low, HasSubstr("x1=\"90\" y1=\"314\""));
  EXPECT_THAT(high, HasSubstr("x1=\"90\" y1=\"332\"")) << "a third row of 18 pixels";
}

TEST(LossPlot, OnlyNanMakesAnEmptyPlot) {
  const std::string svg = draw_losses({{0, NAN}}, {{"a", {{0, NAN}}}}, "t");

  EXPECT_EQ(testing::parse_markup(svg, false).error, "");
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(LossPlot, EscapesTheTitle) {
  EXPECT_THAT(draw_losses(reference, {}, "<script>"), HasSubstr("<title>&lt;script&gt;</title>"));
}

}  // namespace
}  // namespace plumbline
