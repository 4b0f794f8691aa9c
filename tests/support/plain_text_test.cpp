// SPDX-License-Identifier: BSD-3-Clause
#include "support/plain_text.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::EndsWith;
using testing::error_of;
using ::testing::HasSubstr;

TEST(PlainText, PlacesCountLinesAndCharacters) {
  EXPECT_EQ(place_in_text("", 0), "1:1");
  EXPECT_EQ(place_in_text("ab\ncd", 1), "1:2");
  EXPECT_EQ(place_in_text("ab\ncd", 3), "2:1");
  EXPECT_EQ(place_in_text("ab\n\xC3\xA9\xC3\xA9x", 7), "2:3") << "an e with an accent is two bytes and one character";
  EXPECT_EQ(place_in_text("ab\n\xC3\xA9\xC3\xA9x", 6), "2:2") << "the middle of a character counts as its start";
  EXPECT_EQ(place_in_text("ab", 99), "1:3") << "beyond the end";
}

TEST(PlainText, AcceptsAnyLanguageTabsAndLineBreaks) {
  EXPECT_NO_THROW(refuse_what_is_no_text("f", ""));
  EXPECT_NO_THROW(refuse_what_is_no_text("f", "a\tb\r\n\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\n"));
}

TEST(PlainText, RefusesOtherControlCharactersAndNamesThePlace) {
  for (int value = 0; value < 0x80; ++value) {
    const char byte = static_cast<char>(value);
    const bool control = (value < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || value == 0x7F;
    const std::string bytes = std::string("ab\nc") + byte;
    if (!control) {
      EXPECT_NO_THROW(refuse_what_is_no_text("f", bytes)) << value;
      continue;
    }
    EXPECT_THAT(error_of<InputError>([&] { refuse_what_is_no_text("f", bytes); }), HasSubstr("f:2:2: the byte 0x"))
        << value;
  }
  EXPECT_THAT(error_of<InputError>([] {
                refuse_what_is_no_text("f", {"a\0b", 3});
              }),
              HasSubstr("f:1:2: the byte 0x00 is a control character"));
}

TEST(PlainText, RefusesInvalidUtf8AndNamesThePlace) {
  for (const char* bytes : {"ab\n\xFF", "ab\n\xC3", "ab\n\xC0\x80", "ab\n\xED\xA0\x80", "ab\n\x80\x01"}) {
    EXPECT_THAT(error_of<InputError>([&] { refuse_what_is_no_text("f", bytes); }),
                ::testing::AllOf(HasSubstr("f:2:1: the byte 0x"), EndsWith("is not UTF-8; convert the file to UTF-8")));
  }
}

TEST(PlainText, NamesTheFirstProblem) {
  EXPECT_THAT(error_of<InputError>([] { refuse_what_is_no_text("f", "\x01\xFF"); }), HasSubstr("f:1:1: the byte 0x01"));
  EXPECT_THAT(error_of<InputError>([] { refuse_what_is_no_text("f", "\xFF\x01"); }), HasSubstr("f:1:1: the byte 0xFF"));
}

TEST(Printable, EscapesWhatActsOnATerminal) {
  for (const auto& [text, shown] : std::initializer_list<std::pair<std::string, std::string>>{
           {"plain \\n \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", "plain \\n \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"},
           {"x\n::error title=build::all is well", "x\\n::error title=build::all is well"},
           {"\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"},
           {"a\tb\r\x7F", "a\\tb\\r\\x7f"},
           {std::string("a\0b", 3), "a\\x00b"},
           {"C1 \xC2\x9B\x33\x31m", "C1 \\u009b31m"},
           {"\xE2\x80\xAE right to left \xE2\x81\xA6", "\\u202e right to left \\u2066"},
           {"\xE2\x80\xA8 separates lines", "\\u2028 separates lines"},
           {"\xFF\xC3 no UTF-8", "\\xff\\xc3 no UTF-8"}}) {
    EXPECT_EQ(printable(text), shown);
    EXPECT_EQ(printable(shown), shown) << "escaping twice changes nothing";
    EXPECT_EQ(is_printable(text), text == shown) << shown;
  }
}

TEST(Printable, KeepsOurLineBreaksButNoCiCommands) {
  EXPECT_EQ(printable_lines("HOLDS\n  two: a::b\n"), "HOLDS\n  two: a::b\n");
  EXPECT_EQ(printable_lines("x\n  ::error title=a::b\n::group::x"), "x\n  \\x3a:error title=a::b\n\\x3a:group::x");
  EXPECT_EQ(printable_lines("x ##[error]y ##vso[task.setvariable]z"), "x \\x23#[error]y \\x23#vso[task.setvariable]z");
  EXPECT_EQ(printable_lines("\x1b[31m red\r\n"), "\\x1b[31m red\\r\n");
}

}  // namespace
}  // namespace plumbline
