// SPDX-License-Identifier: BSD-3-Clause
#include "reports/markup.hpp"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

const std::string unknown = "\xEF\xBF\xBD";

TEST(Markup, InvalidUtf8BecomesTheReplacementCharacter) {
  EXPECT_EQ(valid_in_xml("a\xFF"
                         "b\xC3"),
            "a" + unknown + "b" + unknown);
  EXPECT_EQ(valid_in_xml("gr\xC3\xBC\xC3\x9F"), "gr\xC3\xBC\xC3\x9F");
}

TEST(Markup, ControlCharactersBecomeTheReplacementCharacter) {
  EXPECT_EQ(valid_in_xml(std::string("a\0\x1B\x7F", 4)), "a" + unknown + unknown + unknown);
  EXPECT_EQ(valid_in_xml("a\n\tb"), "a\n\tb");
}

TEST(Markup, NoncharactersThatXmlRefusesAreReplaced) {
  EXPECT_EQ(valid_in_xml("a\xEF\xBF\xBE"
                         "b\xEF\xBF\xBF"),
            "a" + unknown + "b" + unknown);
  EXPECT_EQ(valid_in_xml(unknown), unknown);
}

TEST(Markup, XmlEscapesKeepLineBreaksInAttributes) {
  EXPECT_EQ(xml_escape("<a b='1'>&\"\n"), "&lt;a b=&#39;1&#39;&gt;&amp;&quot;&#10;");
  EXPECT_EQ(xml_escape("a\tb"), "a&#9;b");
}

}  // namespace
}  // namespace plumbline
