#include "reports/plain_page.hpp"

#include <gmock/gmock.h>

namespace plumbline {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(PlainPage, AnElementHasItsAttributesAndItsTextEscaped) {
  EXPECT_EQ(html_element("td", "a < b & c", " class=\"num\""), "<td class=\"num\">a &lt; b &amp; c</td>");
  EXPECT_EQ(html_element("h2", ""), "<h2></h2>");
}

TEST(PlainPage, HoldsTheBodyAsItIsUnderItsTitle) {
  const std::string page = plain_page("a < b", "<h1>c</h1>\n");

  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"));
  EXPECT_THAT(page, HasSubstr("\n<title>a &lt; b</title>\n<style>\n"));
  EXPECT_THAT(page, EndsWith("</style>\n</head>\n<body>\n<main>\n<h1>c</h1>\n</main>\n</body>\n</html>\n"));
}

}  // namespace
}  // namespace plumbline
