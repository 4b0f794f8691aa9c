// SPDX-License-Identifier: BSD-3-Clause
#include "support/terminal.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <memory>

namespace plumbline::testing {
namespace {

TEST(Wrapped, BreaksAtSpacesAndContinuesUnderTheLastColumn) {
  EXPECT_EQ(wrapped("fits\n", 4), "fits\n");
  EXPECT_EQ(wrapped("", 10), "");
  EXPECT_EQ(wrapped("\n\na", 10), "\n\na");
  EXPECT_EQ(wrapped("one two three four\n", 9), "one two\n  three\n  four\n");
  EXPECT_EQ(wrapped("  in here it goes on", 12), "  in here it\n    goes on");
  EXPECT_EQ(wrapped("loss  fails  of all that was read of it", 28),
            "loss  fails  of all that was\n             read of it")
      << "a table";
  EXPECT_EQ(wrapped("what takes half of it  of all that", 28), "what takes half of it  of\n  all that") << "no table";
}

TEST(Wrapped, KeepsLongWordsWholeAndCountsCharacters) {
  EXPECT_EQ(wrapped("at /a/long/path/to/it or so", 10), "at\n  /a/long/path/to/it\n  or so");
  EXPECT_EQ(wrapped("\u00B5\u00B5\u00B5 \u00B5\u00B5\u00B5", 7), "\u00B5\u00B5\u00B5 \u00B5\u00B5\u00B5");
}

TEST(WrappedCommand, AShellReadsItAsOneCommand) {
  EXPECT_EQ(wrapped_command("plumbline sweep 'a b  c' --out there", 20),
            "plumbline sweep \\\n  'a b  c' --out \\\n  there");
  EXPECT_EQ(wrapped_command("one two three", 10, 2), "  one \\\n    two \\\n    three");
}

TEST(WithoutDigests, RemovesOnlyDigests) {
  const std::string one(32, 'a'), other(32, '0');
  EXPECT_EQ(without_digests("the bits differ (expected " + one + ", got " + other + ") (2 in all)"),
            "the bits differ (2 in all)");
  EXPECT_EQ(without_digests("input " + one + " of x" + other), "input aaaaaaaa... of x" + other);
  EXPECT_EQ(without_digests("(expected 1, got 2)"), "(expected 1, got 2)");
}

TEST(Colored, PaintsOneWordOfALine) {
  EXPECT_EQ(colored("DOES NOT HOLD: 1\nHOLDS\n"), "\x1b[31mDOES NOT HOLD\x1b[0m: 1\n\x1b[32mHOLDS\x1b[0m\n");
  EXPECT_EQ(colored("loss  holds  all"), "loss  \x1b[32mholds\x1b[0m  all");
  EXPECT_EQ(colored("what it holds\nWITHHOLDS"), "what it holds\nWITHHOLDS");
}

TEST(Colors, AreShownOnRequest) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), std::fclose};
  EXPECT_FALSE(shows_colors(file.get())) << "no terminal";
  choose_colors(Colors::always);
  EXPECT_TRUE(shows_colors(file.get()));
  choose_colors(Colors::where_terminal);
}

TEST(LineWidth, ComesFromCOLUMNSWithoutATerminal) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), std::fclose};
  const std::string before = std::getenv("COLUMNS") != nullptr ? std::getenv("COLUMNS") : "";
  for (const auto& [columns, width] :
       {std::pair{"132", std::size_t{132}}, {"0", no_limit}, {"wide", no_limit}, {"1", std::size_t{20}}}) {
    ::setenv("COLUMNS", columns, 1);
    EXPECT_EQ(line_width(file.get()), width) << columns;
  }
  ::setenv("COLUMNS", before.c_str(), 1);
}

TEST(ForPeople, EscapesTerminalControls) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  EXPECT_EQ(for_people("\x1b[2J x\n::error title=a::b\n", file.get()), "\\x1b[2J x\n\\x3a:error title=a::b\n");
}

}  // namespace
}  // namespace plumbline::testing
