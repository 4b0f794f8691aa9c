#include "reports/gnuplot.hpp"

#include <gmock/gmock.h>

#include "reports/child_process.hpp"
#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

bool gnuplot_is_here() {
  return run_child({"gnuplot", "--version"}, "", std::chrono::seconds(20)).exit_code == 0;
}

TEST(Gnuplot, DrawsTheSamePictureTwice) {
  if (!gnuplot_is_here()) GTEST_SKIP() << "gnuplot is not installed";
  Gnuplot gnuplot;

  const auto first = gnuplot.draw("plot x title 'under_score'\n", 300, 200, "a-", "t");
  const auto second = gnuplot.draw("plot x title 'under_score'\n", 300, 200, "a-", "t");

  ASSERT_TRUE(first.has_value()) << gnuplot.trouble();
  EXPECT_EQ(first, second);
  EXPECT_EQ(testing::parse_markup(*first, false).error, "");
  EXPECT_THAT(*first, HasSubstr("under_score"));
  EXPECT_EQ(gnuplot.trouble(), "");
}

TEST(Gnuplot, ABrokenScriptIsSaidAndTheNextOneStillDrawn) {
  if (!gnuplot_is_here()) GTEST_SKIP() << "gnuplot is not installed";
  Gnuplot gnuplot;

  EXPECT_EQ(gnuplot.draw("plot no_such_function(x)\n", 300, 200, "a-", "t"), std::nullopt);
  EXPECT_THAT(gnuplot.trouble(), HasSubstr("gnuplot could not draw: "));
  EXPECT_TRUE(gnuplot.draw("plot x\n", 300, 200, "a-", "t").has_value());
}

TEST(Gnuplot, AMissingProgramIsNamed) {
  Gnuplot gnuplot("plumbline-no-gnuplot");

  EXPECT_EQ(gnuplot.draw("plot x\n", 300, 200, "a-", "t"), std::nullopt);
  EXPECT_THAT(gnuplot.trouble(), HasSubstr("plumbline-no-gnuplot could not be started"));
}

}  // namespace
}  // namespace plumbline
