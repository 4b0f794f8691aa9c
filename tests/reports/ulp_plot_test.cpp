#include "reports/ulp_plot.hpp"

#include <gmock/gmock.h>

#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

TEST(UlpPlot, ABucketIsNamedByItsUnits) {
  EXPECT_EQ(bucket_text({0, 0, 9}), "0");
  EXPECT_EQ(bucket_text({1, 1, 9}), "1");
  EXPECT_EQ(bucket_text({2, 3, 9}), "2-3");
  EXPECT_EQ(bucket_text({512, 1023, 9}), "512-1023");
  EXPECT_EQ(bucket_text({1024, 2047, 9}), "1Ki+");
  EXPECT_EQ(bucket_text({std::int64_t{1} << 21, (std::int64_t{1} << 22) - 1, 9}), "2Mi+");
}

TEST(UlpPlot, BarsAreAsHighAsTheLogarithmOfTheirElements) {
  const std::string svg = draw_ulps({{0, 0, 100}, {1, 1, 1000}}, "<ulps>");

  // From -0.1 to log10(1000) + 0.3 over 150 pixels upwards from 170.
  EXPECT_THAT(svg, HasSubstr("<rect x=\"117.75\" y=\"77.35\" width=\"129.5\" height=\"92.65\" fill=\"#b0b0b0\"/>"))
      << "100 are equal";
  EXPECT_THAT(svg, HasSubstr("<rect x=\"302.75\" y=\"33.24\" width=\"129.5\" height=\"136.76\" fill=\"#9c2f00\"/>"))
      << "1000 are off by one";
  EXPECT_THAT(svg, HasSubstr("<text x=\"367.5\" y=\"29.24\" text-anchor=\"middle\" font-size=\"10\">1,000</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>&lt;ulps&gt;</title>"));
  EXPECT_EQ(testing::parse_markup(svg, false).error, "");
}

TEST(UlpPlot, OfNothingIsNone) {
  EXPECT_EQ(draw_ulps({}, "t"), "");
}

}  // namespace
}  // namespace plumbline
