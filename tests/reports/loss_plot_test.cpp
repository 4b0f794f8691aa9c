#include "reports/loss_plot.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace plumbline {
namespace {

using ::testing::HasSubstr;

const Losses reference{{0, 6.0F}, {1, 5.5F}, {2, 5.0F}};

TEST(LossPlot, OneUlpIsADifference) {
  const LossSeries series{2, "1f1b", {{0, 6.0F}, {1, std::nextafter(5.5F, 9.0F)}, {2, 5.0F}}};

  const LossDifference difference = loss_difference(reference, series);

  EXPECT_EQ(difference.compared, 3);
  EXPECT_EQ(difference.differing, 1);
  EXPECT_DOUBLE_EQ(difference.largest, 0x1p-21);
}

TEST(LossPlot, NanDiffersEvenFromNan) {
  const LossDifference difference = loss_difference({{0, NAN}}, {1, "afab", {{0, NAN}}});

  EXPECT_EQ(difference.compared, 1);
  EXPECT_EQ(difference.differing, 1);
}

TEST(LossPlot, AStepThatOneSideLacksIsNotCompared) {
  const LossDifference difference = loss_difference(reference, {1, "afab", {{7, 5.0F}}});

  EXPECT_EQ(difference.compared, 0);
  EXPECT_EQ(difference.differing, 0);
}

TEST(LossPlot, DataHoldsLossAndDifferenceOfEachWorld) {
  const std::string script =
      loss_plot_script(reference, {{1, "a", {{0, 6.0F}}}, {4, "b", {{1, 5.75F}}}, {4, "c", {{2, NAN}}}});

  EXPECT_THAT(script, HasSubstr("$reference << EOD\n0 6\n1 5.5\n2 5\nEOD\n"));
  EXPECT_THAT(script, HasSubstr(" 6 0\n"));
  EXPECT_THAT(script, HasSubstr(" 5.75 0.25\n"));
  EXPECT_THAT(script, HasSubstr(" NaN NaN\n"));
  EXPECT_THAT(script, HasSubstr("title 'P = 4'"));
}

TEST(LossPlot, EqualLossesAreShownOnTheScaleOfOneUlp) {
  const std::string script = loss_plot_script(reference, {{1, "a", reference}});

  EXPECT_THAT(script, HasSubstr("set yrange [-1.1920928955078125e-06:1.1920928955078125e-06]"))
      << "2.5 units in the last place of 6.0, which is 2^-21";
}

}  // namespace
}  // namespace plumbline
