// SPDX-License-Identifier: BSD-3-Clause
#include "command_line/did_you_mean.hpp"

#include <gmock/gmock.h>

#include "command_line/command_line.hpp"
#include "command_line/options.hpp"
#include "support/error.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// A program of two commands; one of them has subcommands.
class DidYouMean : public ::testing::Test {
 protected:
  DidYouMean() {
    program_.name("plumbline");
    program_.require_subcommand(1);
    auto* sweep = program_.add_subcommand("sweep");
    sweep->add_option("file", text_);
    sweep->add_flag("--list");
    auto* schedule = program_.add_subcommand("schedule");
    schedule->require_subcommand(1);
    schedule->add_flag("--everywhere");
    schedule->add_subcommand("check")->add_option("--model", text_);
    schedule->add_subcommand("show");
  }
  /// The message for a command line that is refused.
  std::string message(const std::string& line) {
    try {
      program_.parse(line, false);
    } catch (const CLI::ParseError& error) {
      return message_with_suggestions(&program_, error);
    }
    ADD_FAILURE() << "was accepted";
    return "";
  }

  CLI::App program_;
  std::string text_;
};

TEST_F(DidYouMean, SuggestsAnOptionOfTheInnermostCommandIgnoringItsValue) {
  EXPECT_THAT(message("schedule check --modl=stream"),
              StartsWith("--modl is not an option of plumbline schedule check; did you mean --model?\n"));
}

TEST_F(DidYouMean, SuggestsAValueOfTheList) {
  program_.add_option("--device", text_)->check(one_of({"cpu", "cuda"}));
  EXPECT_THAT(message("--device gpu sweep"), StartsWith("--device: gpu not in {cpu,cuda}; did you mean cuda?\n"));
  EXPECT_THAT(message("--device CUDA sweep"), StartsWith("--device: CUDA not in {cpu,cuda}; did you mean cuda?\n"));
}

TEST_F(DidYouMean, NamesAnEmptyWord) {
  const auto read = [&](const std::vector<const char*>& words) {
    try {
      read_command_line(program_, static_cast<int>(words.size()), words.data());
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("was accepted");
  };
  EXPECT_THAT(read({"plumbline", "sweep", ""}), StartsWith("argument 2: is empty"));
  EXPECT_THAT(read({"plumbline", "schedule", "check", "--model", ""}), StartsWith("--model: is empty"));
}

TEST_F(DidYouMean, SuggestsASubcommandOfTheCommandBeforeIt) {
  EXPECT_THAT(message("schedule shwo"),
              StartsWith("shwo is not a command of plumbline schedule; did you mean show?\n"));
  EXPECT_THAT(message("swep"), StartsWith("swep is not a command of plumbline; did you mean sweep?\n"));
}

TEST_F(DidYouMean, ListsAllNamesIfNoneIsClose) {
  EXPECT_THAT(message("qqqqqqqqqqqq"),
              StartsWith("qqqqqqqqqqqq is not a command of plumbline; known are sweep, schedule\n"));
  EXPECT_THAT(message("sweep -qqqqqqqqqqqq"),
              StartsWith("-qqqqqqqqqqqq is not an option of plumbline sweep; known are -h, --help, --list\n"));
}

TEST_F(DidYouMean, SuggestsTheLongFormOfAShortOptionAndACommandWrittenAsAnOption) {
  EXPECT_THAT(message("sweep -l"), StartsWith("-l is not an option of plumbline sweep; did you mean --list?\n"));
  EXPECT_THAT(message("--shwedule"), StartsWith("--shwedule is not an option of plumbline; did you mean schedule?\n"));
}

TEST_F(DidYouMean, ExplainsOnlyTheFirstWrongWord) {
  EXPECT_THAT(message("sweep a.toml b.toml --lisst"), StartsWith("--lisst is not an option of plumbline sweep; "));
  EXPECT_THAT(message("sweep a.toml --lisst --hepl"),
              AllOf(StartsWith("--lisst is not an option of "), Not(HasSubstr("--hepl is not an option"))));
}

TEST_F(DidYouMean, FallsBackToTheLibrarysMessage) {
  EXPECT_THAT(message(""), StartsWith("A subcommand is required"));
  EXPECT_THAT(message("schedule shwo"), AllOf(HasSubstr("show?\n"), Not(HasSubstr("A subcommand is required"))));
}

TEST_F(DidYouMean, ReadsWordsBeforeACommandAsTheParents) {
  EXPECT_THAT(message("shwedule sweep"),
              StartsWith("shwedule is not a command of plumbline; did you mean schedule?\n"));
  EXPECT_THAT(message("--list sweep"), StartsWith("--list goes after sweep\n"));
}

}  // namespace
}  // namespace plumbline::testing
