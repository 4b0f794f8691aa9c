// SPDX-License-Identifier: BSD-3-Clause
#include "support/toml_library.hpp"

#include <gmock/gmock.h>

#include <string>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string refusal_of(const std::string& bytes) {
  return error_of<InputError>([&] { parse_toml("run.toml", bytes); });
}

TEST(TomlLibrary, ReadsTablesAndWritesThemAgain) {
  toml::table table = parse_toml("run.toml", "[train]\nsteps = 5\n");

  table["train"].as_table()->insert_or_assign("steps", 6);

  std::ostringstream text;
  text << table;
  EXPECT_EQ(text.str(), "[train]\nsteps = 6");
}

// Each of them ends the program in toml++ as it comes.
TEST(TomlLibrary, WhatItsParserAssertsIsRefusedWithItsPlace) {
  for (const auto& [bytes, place] : {std::pair<std::string, std::string>{"[\xC3\xA9]\n", "1:2"},
                                     {"[.train]\n", "1:2"},
                                     {"[$x]\n", "1:2"},
                                     {"[[[cell]]]\n", "1:3"},
                                     {"[a]\nb = 1\n[ .c]\n", "3:3"},
                                     {"[a]\nb = 1\n  [[\xC3\xA9]]\n", "3:5"}}) {
    EXPECT_THAT(refusal_of(bytes), StartsWith("run.toml:" + place + ": not valid TOML: not allowed here")) << bytes;
  }
}

// Undefined behaviour in toml++ as it comes, which only a sanitizer tells (the inputs of tests/fuzz/found).
TEST(TomlLibrary, CharactersBesideItsTableOfBlanksAreNone) {
  for (const std::string character : {"\xC2\xA1", "\xC3\x87", "\xD2\x99", "\xE3\x81\x82", "\xEF\xB7\x90"}) {
    EXPECT_THAT(refusal_of(character + " = 1\n"), StartsWith("run.toml:1:1: not valid TOML"));
    EXPECT_THAT(refusal_of("a = 1 " + character + "\n"), StartsWith("run.toml:1:7: not valid TOML"));
  }
}

TEST(TomlLibrary, CharactersBeyondAsciiStandInStringsAndComments) {
  const std::string text = R"(# é "
a = "é\"é" # 'é
b = '\é'
"é" = '''
é'é''''
c = """é"""""
d = "" # é
)";
  const toml::table table = parse_toml("run.toml", "\xEF\xBB\xBF" + text);

  EXPECT_EQ(table["a"].value<std::string>(), "é\"é");
  EXPECT_EQ(table["b"].value<std::string>(), "\\é");
  EXPECT_EQ(table["é"].value<std::string>(), "é'é'");
  EXPECT_EQ(table["c"].value<std::string>(), "é\"\"");
  EXPECT_EQ(table["d"].value<std::string>(), "");
}

// The parser looks for blanks there, too.
TEST(TomlLibrary, CharactersBeyondAsciiMayFollowALineEndingBackslash) {
  for (const std::string character : {"\xC2\xA1", "\xC3\xA9", "\xE3\x81\x82", "\xF0\x9F\x98\x80"}) {
    const std::string quotes = "\"\"\"";
    const toml::table table = parse_toml("run.toml", "a = " + quotes + "x \\\n \n\t" + character + character + quotes);

    EXPECT_EQ(table["a"].value<std::string>(), "x " + character + character);
    EXPECT_THAT(refusal_of("a = " + quotes + "\n\\" + character + quotes),
                StartsWith("run.toml:2:2: not valid TOML: no such escape"));
    EXPECT_THAT(refusal_of("a = " + quotes + "\\ " + character + quotes), HasSubstr("not valid TOML"));
  }
}

TEST(TomlLibrary, WhatIsNoTextIsRefusedWithItsPlace) {
  EXPECT_THAT(refusal_of("a = 1\nb = '\xFF'\n"), StartsWith("run.toml:2:6: the byte 0xFF is not UTF-8"));
  EXPECT_THAT(refusal_of(std::string("a = 1\n[\0]\n", 10)), StartsWith("run.toml:2:2: the byte 0x00"));
}

TEST(TomlLibrary, AnErrorNamesTheFileAndWhatIsWrong) {
  const std::string refusal = error_of<InputError>([] { parse_toml("runs/run.toml", "a = 1\n\na = 2\n"); });

  EXPECT_THAT(refusal, StartsWith("runs/run.toml:3:"));
  EXPECT_THAT(refusal, HasSubstr("redefine existing integer 'a'"));
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(TomlLibrary, AKeyMayHaveAHundredDots) {
  EXPECT_NO_THROW(parse_toml("run.toml", repeated("a.", 100) + "a = 1\n"));
  EXPECT_THAT(refusal_of("b = 1\n" + repeated("a.", 101) + "a = 1\n"), StartsWith("run.toml:2:202: not valid TOML"))
      << "the 101st dot";
  EXPECT_NO_THROW(parse_toml("run.toml", repeated("# It ends. Here.\n", 100))) << "dots of all lines are no key";
}

TEST(TomlLibrary, NestingIsBounded) {
  EXPECT_THAT(refusal_of("a = " + repeated("[", 100000)), HasSubstr("run.toml:1:"));
  EXPECT_THAT(refusal_of("a = " + repeated("{a = ", 100000)), HasSubstr("run.toml:1:"));
  // The library nests keys without a bound, and a table that deep ends the program when it is destroyed.
  for (const std::string& deep : {"[" + repeated("a.", 1000000) + "a]\n", repeated("a.", 1000000) + "a = 1\n",
                                  repeated("a . ", 1000000) + "a = 1\n", repeated("'#'.", 1000000) + "a = 1\n",
                                  "a = [\"\"\"\n#\"\"\", {" + repeated("a.", 1000000) + "a = 1}]\n"}) {
    EXPECT_THAT(refusal_of(deep), HasSubstr("more than 100 dots in one key"));
  }
  EXPECT_NO_THROW(parse_toml("run.toml", "# " + repeated(".", 200) + "\n" + repeated("a.", 99) + "a = 1\n"));
  EXPECT_NO_THROW(parse_toml("run.toml", "a = [" + repeated("1.5, ", 500) + "2.5]\n"));
}

}  // namespace
}  // namespace plumbline
