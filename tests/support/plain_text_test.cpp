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
  EXPECT_EQ(place_in_text("ab\n\xC3\xA9\xC3\xA9x", 6), "2:2") << "within a character: where it begins";
  EXPECT_EQ(place_in_text("ab", 99), "1:3") << "beyond the end";
}

TEST(PlainText, TextOfAnyLanguageWithTabsAndLineBreaksPasses) {
  EXPECT_NO_THROW(refuse_what_is_no_text("f", ""));
  EXPECT_NO_THROW(refuse_what_is_no_text("f", "a\tb\r\n\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\n"));
}

TEST(PlainText, EveryOtherControlCharacterIsRefusedWithItsPlace) {
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

TEST(PlainText, TheFirstByteThatIsNoUtf8IsRefusedWithItsPlace) {
  for (const char* bytes : {"ab\n\xFF", "ab\n\xC3", "ab\n\xC0\x80", "ab\n\xED\xA0\x80", "ab\n\x80\x01"}) {
    EXPECT_THAT(error_of<InputError>([&] { refuse_what_is_no_text("f", bytes); }),
                ::testing::AllOf(HasSubstr("f:2:1: the byte 0x"), EndsWith("is not UTF-8; convert the file to UTF-8")));
  }
}

TEST(PlainText, WhatComesFirstIsTold) {
  EXPECT_THAT(error_of<InputError>([] { refuse_what_is_no_text("f", "\x01\xFF"); }), HasSubstr("f:1:1: the byte 0x01"));
  EXPECT_THAT(error_of<InputError>([] { refuse_what_is_no_text("f", "\xFF\x01"); }), HasSubstr("f:1:1: the byte 0xFF"));
}

}  // namespace
}  // namespace plumbline
