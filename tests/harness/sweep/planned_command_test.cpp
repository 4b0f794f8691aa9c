// SPDX-License-Identifier: BSD-3-Clause
// Arguments and start of a case's commands, without a sweep.
#include "harness/sweep/planned_command.hpp"

#include "support/error.hpp"
#include "tests/harness/fake_programs.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

/// On four ranks; both commands end in the word `more`.
CommandCell cell_with(const std::string& more) {
  CommandCell cell;
  cell.world_size = 4;
  cell.schedule = "1f1b";
  cell.reference = {"./alone.sh", "{record}", more};
  cell.candidate = {"./train.sh", "{record}", more};
  cell.values = {{"steps", "3"}};
  return cell;
}

UserCommands commands_in(const fs::path& folder) {
  UserCommands commands;
  commands.folder = folder;
  return commands;
}

PlannedCommand command_of(const Words& words) {
  PlannedCommand command;
  command.words = words;
  command.folder = "/place";
  return command;
}

TEST(PlannedCommand, CandidatesRunOnTheCasesRanksAndReferencesOnOne) {
  const UserCommands commands = commands_in("/place");

  const PlannedCommand candidate = planned_candidate(cell_with("{world}"), commands);
  const PlannedCommand reference = planned_reference(cell_with("{world}"), commands);

  EXPECT_THAT(candidate.words, ElementsAre("./train.sh", "{record}", "{world}"));
  EXPECT_THAT(candidate.values, ElementsAre(Pair("schedule", "1f1b"), Pair("steps", "3"), Pair("world", "4")));
  EXPECT_EQ(candidate.ranks, 4);
  EXPECT_TRUE(candidate.is_candidate);
  EXPECT_THAT(reference.words, ElementsAre("./alone.sh", "{record}", "{world}"));
  EXPECT_THAT(reference.values, ElementsAre(Pair("schedule", "1f1b"), Pair("steps", "3"), Pair("world", "1")));
  EXPECT_EQ(reference.ranks, 1);
  EXPECT_FALSE(reference.is_candidate);
}

TEST(PlannedCommand, TheLevelIsFullUnlessTheCaseSetsAnother) {
  CommandCell cell = cell_with("{level}");
  UserCommands commands = commands_in("/place");
  EXPECT_EQ(planned_candidate(cell, commands).values.at("level"), "full");
  cell.values["level"] = "dump";
  EXPECT_EQ(planned_candidate(cell, commands).values.at("level"), "dump");

  EXPECT_FALSE(planned_candidate(cell_with("x"), commands).values.contains("level")) << "nobody asks for it";
  commands.environment = {{"LEVEL", "to {level}"}};
  EXPECT_EQ(planned_candidate(cell_with("x"), commands).values.at("level"), "full") << "in a variable";
  commands.environment = {{"{level}", "x"}};
  EXPECT_FALSE(planned_candidate(cell_with("x"), commands).values.contains("level")) << "a name is no text";
}

TEST(PlannedCommand, IsStartedWithTheLaunchsValues) {
  PlannedCommand command = command_of({"./train.sh", "--to={record}", "{launcher}", "{port}", "w{world}"});
  command.values = {{"world", "4"}};
  command.environment = {{"PLACE", "{record}:{port}"}};

  const StartedCommand started = started_command(command, {"/out/cells/a", 29501, {"srun", "-n", "4"}});

  EXPECT_THAT(started.words, ElementsAre("/place/train.sh", "--to=/out/cells/a", "srun", "-n", "4", "29501", "w4"));
  EXPECT_THAT(started.environment, ElementsAre(Pair("PLACE", "/out/cells/a:29501")));
}

TEST(PlannedCommand, TakesAPathFromTheSweepFilesFolderAndANameFromPath) {
  const auto program = [](const std::string& word) { return started_command(command_of({word}), {}).words.front(); };
  EXPECT_EQ(program("./bin/../train.sh"), "/place/train.sh");
  EXPECT_EQ(program("/usr/bin/env"), "/usr/bin/env");
  EXPECT_EQ(program("python3"), "python3");
  PlannedCommand own = command_of({"./plumbline-reference"});
  own.folder.clear();
  EXPECT_EQ(started_command(own, {}).words.front(), "./plumbline-reference") << "without ./ it is searched on PATH";
}

TEST(PlannedCommand, DiffersIfAnythingButItsPlaceDiffers) {
  const std::string one = identity_of(command_of({"./train.sh", "{record}", "ab", "c"}));
  PlannedCommand other = command_of({"./train.sh", "{record}", "ab", "c"});
  EXPECT_EQ(identity_of(other), one);

  other.folder = "/elsewhere";
  other.words.front() = "/place/train.sh";
  EXPECT_NE(identity_of(other), one) << "its folder";
  EXPECT_NE(identity_of(command_of({"./train.sh", "{record}", "a", "bc"})), one) << "where its words end";
  EXPECT_NE(identity_of(command_of({"./train.sh", "{record}", "ab", "c", "{launcher}"})), one);

  other = command_of({"./train.sh"});
  other.environment = {{"ORDER", "up"}};
  const std::string up = identity_of(other);
  other.environment = {{"ORDER", "down"}};
  EXPECT_NE(identity_of(other), up);
}

TEST(PlannedCommand, SaysWhyItsProgramCannotStart) {
  const TemporaryFolder folder;
  folder.file("notes.txt", "no program");
  const fs::path train = program(folder, "train.sh", "exit 0\n");
  const auto program_named = [&](const std::string& word) {
    PlannedCommand command = command_of({word});
    command.folder = folder.path();
    return program_of(command, {});
  };

  EXPECT_EQ(program_named("./train.sh"), train);
  EXPECT_THAT(error_of<InputError>([&] { program_named("./gone.sh"); }),
              HasSubstr("no such program: " + (folder / "gone.sh").string() + ". A path is relative to"));
  EXPECT_EQ(error_of<InputError>([&] { program_named("./notes.txt"); }),
            (folder / "notes.txt").string() + " cannot be executed (chmod +x)");
  EXPECT_EQ(error_of<InputError>([&] { program_named("no-such-program"); }), "no-such-program is not on PATH");
}

const Placeholders given_values = {{"port", "29500"}, {"world", "4"}};

TEST(Placeholders, AreListedInOrderWithRepetitions) {
  EXPECT_THAT(placeholders_in("--at={port}/w{world}-{port}"), ElementsAre("port", "world", "port"));
  EXPECT_THAT(placeholders_in("train.sh"), IsEmpty());
}

TEST(Placeholders, AreFilledInAndTheRestStays) {
  EXPECT_EQ(filled_in("w{world} at {port}.", given_values), "w4 at 29500.");
}

TEST(Placeholders, ADoubledBraceIsLiteral) {
  EXPECT_EQ(filled_in("{{world}}", given_values), "{world}");
  EXPECT_EQ(filled_in("{{{world}}}", given_values), "{4}");
  EXPECT_EQ(filled_in("a}}b{{", given_values), "a}b{");
  EXPECT_THAT(placeholders_in("{{world}}"), IsEmpty());
}

TEST(Placeholders, ASingleBraceIsRefusedWithAdvice) {
  for (const std::string text : {"{world", "{a{world}", "{", "{a{{b}"}) {
    EXPECT_EQ(error_of<InputError>([&] { placeholders_in(text); }),
              "\"" + text + "\": has a single {; write {{ for a literal one");
  }
  for (const std::string text : {"world}", "}", "{world}}"}) {
    EXPECT_EQ(error_of<InputError>([&] { placeholders_in(text); }),
              "\"" + text + "\": has a single }; write }} for a literal one");
  }
}

TEST(Placeholders, AnUnknownNameIsRefusedWithTheKnownNames) {
  EXPECT_EQ(
      error_of<InputError>([] { filled_in("w{wrld}", given_values); }),
      "\"w{wrld}\": unknown placeholder {wrld}; did you mean {world}? The placeholders are {port}, {world}; {{ and }} "
      "are literal braces");
  EXPECT_THAT(error_of<InputError>([] { filled_in("{learning_rate}", given_values); }),
              HasSubstr("unknown placeholder {learning_rate}. The placeholders are {port}, {world};"));
}

}  // namespace
}  // namespace plumbline::testing
