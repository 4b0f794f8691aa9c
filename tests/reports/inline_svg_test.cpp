#include "reports/inline_svg.hpp"

#include <gmock/gmock.h>

#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string document = R"SVG(<?xml version="1.0"?>
<svg
 width="10" height="10" xmlns:xlink="http://www.w3.org/1999/xlink">
<title>Gnuplot</title>
<defs>
	<circle id='dot' r='1'/>
	<use xlink:href='#dot' id="ring"/>
</defs>
<g fill="none" stroke-linecap="butt" stroke-linejoin="miter">
<g color="red">
</g>
</g>
<g filter="url(#dot)" stroke-linecap="butt"><use xlink:href='#ring'/><text>a b</text></g>
</svg>
)SVG";

TEST(InlineSvg, IdsAndWhatPointsToThemGetThePrefix) {
  const auto svg = inline_svg(document, "p1-", "Loss").value();

  const testing::Markup markup = testing::parse_markup(svg, false);
  EXPECT_EQ(markup.error, "");
  EXPECT_THAT(markup.ids, ElementsAre("p1-dot", "p1-ring"));
  EXPECT_THAT(markup.references, ElementsAre("#p1-dot", "#p1-ring"));
  EXPECT_THAT(svg, HasSubstr("url(#p1-dot)"));
}

TEST(InlineSvg, StandsAloneInAPageAndIsNamed) {
  const auto svg = inline_svg(document, "p", "Loss of <a>").value();

  EXPECT_THAT(svg, ::testing::StartsWith("<svg "));
  EXPECT_THAT(svg, ::testing::EndsWith("</svg>"));
  EXPECT_THAT(svg, HasSubstr("<title>Loss of &lt;a&gt;</title>"));
  EXPECT_THAT(svg, HasSubstr("aria-label=\"Loss of &lt;a&gt;\""));
}

TEST(InlineSvg, EmptyGroupsGoAndDrawnOnesStay) {
  const auto svg = inline_svg(document, "p", "t").value();

  EXPECT_THAT(svg, Not(HasSubstr("color=\"red\"")));
  EXPECT_THAT(svg, HasSubstr("<text>a b</text></g>"));
}

TEST(InlineSvg, AHalfWrittenDocumentIsNone) {
  EXPECT_EQ(inline_svg(document.substr(0, document.size() - 8), "p", "t"), std::nullopt);
  EXPECT_EQ(inline_svg("", "p", "t"), std::nullopt);
}

}  // namespace
}  // namespace plumbline
