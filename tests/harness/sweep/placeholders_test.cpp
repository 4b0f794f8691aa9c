// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/planned_command.hpp"
#include "support/error.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

const Placeholders values = {{"port", "29500"}, {"world", "4"}};

TEST(Placeholders, AreNamedInTheirOrderAsOftenAsTheyStandThere) {
  EXPECT_THAT(placeholders_in("--at={port}/w{world}-{port}"), ElementsAre("port", "world", "port"));
  EXPECT_THAT(placeholders_in("train.sh"), IsEmpty());
}

TEST(Placeholders, AreFilledInAndWhatStandsAroundThemStays) {
  EXPECT_EQ(filled_in("w{world} at {port}.", values), "w4 at 29500.");
}

TEST(Placeholders, ABraceWrittenTwiceStandsForItself) {
  EXPECT_EQ(filled_in("{{world}}", values), "{world}");
  EXPECT_EQ(filled_in("{{{world}}}", values), "{4}");
  EXPECT_EQ(filled_in("a}}b{{", values), "a}b{");
  EXPECT_THAT(placeholders_in("{{world}}"), IsEmpty());
}

TEST(Placeholders, ABraceAloneIsRefusedWithHowToWriteIt) {
  for (const std::string text : {"{world", "{a{world}", "{", "{a{{b}"}) {
    EXPECT_EQ(error_of<InputError>([&] { placeholders_in(text); }),
              "\"" + text + "\": a { alone; write {{ for a literal one");
  }
  for (const std::string text : {"world}", "}", "{world}}"}) {
    EXPECT_EQ(error_of<InputError>([&] { placeholders_in(text); }),
              "\"" + text + "\": a } alone; write }} for a literal one");
  }
}

TEST(Placeholders, ANameWithoutAValueIsToldWithThoseThatHaveOne) {
  EXPECT_EQ(error_of<InputError>([] { filled_in("w{wrld}", values); }),
            "\"w{wrld}\": there is no placeholder {wrld}; did you mean {world}? There are {port}, {world}; {{ and }} "
            "are literal braces");
  EXPECT_THAT(error_of<InputError>([] { filled_in("{learning_rate}", values); }),
              HasSubstr("there is no placeholder {learning_rate}. There are {port}, {world};"));
}

}  // namespace
}  // namespace plumbline::testing
