#include "reports/plot/panel.hpp"

#include <gmock/gmock.h>

#include "reports/plot/svg.hpp"
#include "tests/reports/well_formed.hpp"

namespace plumbline::plot {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Panel, ValuesLieBetweenTheAxesUpwards) {
  const Panel panel({100, 10, 300, 110}, {0, 4, {}, ""}, {-1, 1, {}, ""});

  EXPECT_EQ(panel.x(0), 100);
  EXPECT_EQ(panel.x(1), 150);
  EXPECT_EQ(panel.y(-1), 110);
  EXPECT_EQ(panel.y(1), 10);
}

TEST(Panel, EachTickStandsAtItsValueAndLabelsAreText) {
  const Panel panel({100, 10, 300, 110}, {0, 4, {{1, "one"}}, "x & y"}, {-1, 1, {{0, "zero"}}, "loss"});

  const std::string svg = panel.draw_axes("<title>");

  EXPECT_THAT(svg, HasSubstr("<text x=\"150\" y=\"127\" text-anchor=\"middle\">one</text>"));
  EXPECT_THAT(svg, HasSubstr("<text x=\"93\" y=\"64\" text-anchor=\"end\">zero</text>"));
  EXPECT_THAT(svg, HasSubstr(">x &amp; y</text>"));
  EXPECT_THAT(svg, HasSubstr(">&lt;title&gt;</text>"));
  EXPECT_EQ(testing::parse_markup(picture(400, 200, "p", svg), false).error, "");
}

TEST(Panel, ALegendThatIsTooWideGoesOnBelow) {
  const std::vector<LegendEntry> entries{{"", "first"}, {"", "second"}};

  EXPECT_THAT(draw_legend(0, 5, 500, entries), Not(HasSubstr(" 23)")));
  EXPECT_THAT(draw_legend(0, 5, 100, entries), HasSubstr("translate(0 23)"));
}

TEST(Svg, CoordinatesAreShort) {
  EXPECT_EQ(coordinate(1.5), "1.5");
  EXPECT_EQ(coordinate(100), "100");
  EXPECT_EQ(coordinate(-0.001), "0");
  EXPECT_EQ(coordinate(2.0 / 3), "0.67");
}

}  // namespace
}  // namespace plumbline::plot
