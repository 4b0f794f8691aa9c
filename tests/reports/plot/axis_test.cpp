// SPDX-License-Identifier: BSD-3-Clause
#include "reports/plot/axis.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace plumbline::plot {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

TEST(Axis, ARangeThatIsNoneHasNoTicks) {
  EXPECT_THAT(round_ticks(1, 1, 5), IsEmpty());
  EXPECT_THAT(round_ticks(2, 1, 5), IsEmpty());
  EXPECT_THAT(round_ticks(NAN, 1, 5), IsEmpty());
  EXPECT_THAT(round_ticks(0, INFINITY, 5), IsEmpty());
}

TEST(Axis, ARangeBelowTheResolutionOfDoublesEnds) {
  EXPECT_LE(round_ticks(1e17, 1e17 + 16, 5).size(), 7U);
}

}  // namespace
}  // namespace plumbline::plot
