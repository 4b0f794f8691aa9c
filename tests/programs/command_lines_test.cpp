// SPDX-License-Identifier: BSD-3-Clause
// Command lines as a user sees them: suggestions for misspelled words, cases chosen by patterns, printed commands that
// run unchanged.
#include <gmock/gmock.h>

#include <array>
#include <sstream>

#include "record/verdict.hpp"
#include "support/csv.hpp"
#include "support/json.hpp"
#include "support/json_text.hpp"
#include "support/shell.hpp"
#include "tests/ended.hpp"
#include "tests/paths.hpp"
#include "tests/programs/bin.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CommandLine : public ::testing::Test {
 protected:
  Ended plumbline(const std::string& arguments) { return end_of(bin() + "/plumbline " + arguments, folder_.path()); }
  TemporaryFolder folder_;
  const std::string quick = fixtures_path() + "/sweeps/quick.toml";
};

TEST_F(CommandLine, SuggestsCommandsAndOptions) {
  const std::array<std::pair<std::string, std::string>, 5> mistakes = {{
      {"swep " + quick, "swep is not a command of plumbline; did you mean sweep?"},
      {"schedule shwo", "shwo is not a command of plumbline schedule; did you mean show?"},
      {"sweep " + quick + " --lisst", "--lisst is not an option of plumbline sweep; did you mean --list?"},
      {"schedule check --transprot=nccl x.csv",
       "--transprot is not an option of plumbline schedule check; did you mean --transport?"},
      {"qqqqqqqqqqqq", "qqqqqqqqqqqq is not a command of plumbline; known are init, sweep, "},
  }};
  for (const auto& [arguments, words] : mistakes) {
    const Ended ended = plumbline(arguments);

    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_THAT(ended.output, StartsWith("plumbline: " + words));
  }
}

TEST_F(CommandLine, AGroupWithoutACommandListsItsCommands) {
  for (const std::string words : {"", "schedule", "record"}) {
    const Ended alone = plumbline(words), help = plumbline(words + " --help"), by_word = plumbline("help " + words);

    EXPECT_EQ(alone.code, 0) << words;
    EXPECT_THAT(alone.output, HasSubstr("\nCommands:\n"));
    EXPECT_EQ(alone.output, help.output);
    EXPECT_EQ(by_word.output, help.output);
  }
  EXPECT_EQ(plumbline("help schedule show").output, plumbline("schedule show --help").output);
  const Ended unknown = plumbline("help swep"), missing = plumbline("sweep");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.output, HasSubstr("did you mean sweep?"));
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.output, HasSubstr("SWEEP.toml is required"));
}

TEST_F(CommandLine, SuggestsKeysOfRunAndSweepFiles) {
  const auto sweep = folder_.file("sweep.toml", "wrold_sizes = [1]\n");
  const auto run = folder_.file(
      "run.toml", "[model]\nconfig = \"" + fixtures_path() + "/models/stories260k/config.json\"\n[data]\ntext = \"" +
                      fixtures_path() + "/corpus\"\nlengths = [4]\n[train]\nsteps = 1\nstepz = 2\n");

  const Ended in_sweep = plumbline("sweep " + sweep.string());
  const Ended in_run =
      end_of(bin() + "/plumbline-reference " + run.string() + " --record " + (folder_ / "r").string(), folder_.path());

  EXPECT_EQ(in_sweep.code, 2);
  EXPECT_THAT(in_sweep.output, HasSubstr("unknown key wrold_sizes; did you mean world_sizes?"));
  EXPECT_EQ(in_run.code, 2);
  EXPECT_THAT(in_run.output, HasSubstr("unknown key train.stepz; did you mean steps?"));
}

// Only names that end in .csv are files; a file in the working folder with the name of a schedule is not read.
TEST_F(CommandLine, AScheduleIsAFileOnlyIfItEndsInCsv) {
  folder_.file("1f1b", "no schedule");
  fs::create_directory(folder_ / "zb-v");
  fs::create_directory(folder_ / "mine.csv");
  const auto here = [&](const std::string& arguments) {
    return end_of(
        "cd " + folder_.path().string() + " && " + bin() + "/plumbline schedule simulate --schedule " + arguments,
        folder_.path());
  };

  for (const std::string name : {"1f1b", "zb-v"}) EXPECT_EQ(here(name).code, 0) << name;
  const Ended unknown = here("./1f1b"), folder = here("mine.csv");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.output, HasSubstr("1f1b"));
  EXPECT_EQ(folder.code, 2);
  EXPECT_THAT(folder.output, HasSubstr("mine.csv"));
  folder_.file("circle.csv", "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");
  EXPECT_THAT(here("circle.csv").output, HasSubstr("(plumbline schedule check circle.csv lists all)"));
}

TEST_F(CommandLine, ListNamesTheChosenCasesAndRefusesWhatARunWouldRefuse) {
  const Ended chosen = plumbline("sweep " + quick + " --list --cells '*-w3,*-afab-w1'");
  EXPECT_EQ(chosen.code, 0);
  EXPECT_THAT(chosen.output,
              AllOf(StartsWith("stories260k-adamw-afab-w1\nstories260k-adamw-afab-w3\nstories260k-adamw-1f1b-w3\n"),
                    HasSubstr("each of 4 different runs by its trainer (--check)")));

  EXPECT_EQ(plumbline("sweep --cells '*-w3' --cells '*-afab-w1' " + quick + " --list").output, chosen.output);
  EXPECT_EQ(plumbline("sweep " + quick + " --list --cells '*-w9'").code, 2);
  EXPECT_EQ(plumbline("sweep " + quick + " --list --resume").code, 2);
  EXPECT_EQ(plumbline("sweep " + quick + " --list --trainers " + folder_.path().string()).code, 3);
  EXPECT_EQ(plumbline("sweep " + quick + " --list --out " + folder_.path().string()).code, 2);
  EXPECT_THAT(plumbline("doctor --trainers " + folder_.path().string()).output,
              HasSubstr(": contains neither plumbline-"));
}

class ReferenceCommandLine : public CommandLine {
 protected:
  Ended reference(const std::string& arguments) {
    return end_of(bin() + "/plumbline-reference " + arguments, folder_.path());
  }
  const std::string run = fixtures_path() + "/runs/quick.toml", record = " --record " + (folder_ / "r").string();
};

TEST_F(ReferenceCommandLine, CapabilitiesNameTheProgram) {
  EXPECT_EQ(parse_json("capabilities", reference("--capabilities").output).at("program"), "plumbline-reference");
}

TEST_F(ReferenceCommandLine, NamesWrongAndConflictingOptions) {
  const std::string exported = " --export " + (folder_ / "e").string();
  const std::array<std::pair<std::string, std::string>, 6> mistakes = {{
      {run + " --recrod r", "--recrod"},
      {record, "give a run file, with --record DIR"},
      {run + record + exported, "give a run file, with --record DIR"},
      {run + record + " --shadow --perturb 1", "--shadow and --perturb: give one of them"},
      {run + exported + " --device cuda", "omit --shadow, --perturb and --device"},
      {run + " --check --text /nowhere.txt", "/nowhere.txt"},
  }};
  for (const auto& [arguments, words] : mistakes) {
    const Ended ended = reference(arguments);

    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_THAT(ended.output, HasSubstr(words)) << arguments;
    EXPECT_FALSE(fs::exists(folder_ / "r")) << arguments;
  }
}

TEST_F(ReferenceCommandLine, CheckAnswersAndWritesNothing) {
  const Ended lines = reference(run + " --check"), json = reference(run + " --check --json");
  const Ended wrong = reference(run + " --check --text /nowhere.txt"), alone = reference(run + " --json");
  fs::create_directories(folder_ / "taken/of-another-run");
  const Ended taken = reference(run + " --check --record " + (folder_ / "taken").string());

  EXPECT_EQ(lines.code, 0) << lines.output;
  EXPECT_THAT(lines.output, AllOf(HasSubstr("can run"), HasSubstr("260032 parameters"), HasSubstr("one device (cpu)"),
                                  HasSubstr("\nreference "), HasSubstr("Free on this machine")));
  const Json answer = parse_json("check", json.output);
  EXPECT_EQ(answer.at("program"), "plumbline-reference");
  EXPECT_EQ(answer.at("can_run"), true);
  EXPECT_EQ(answer.at("run").at("train").at("precision"), "float32");
  EXPECT_EQ(answer.at("memory").at("ranks").size(), 1U);
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.output, AllOf(StartsWith("plumbline-reference: "), HasSubstr("/nowhere.txt")));
  EXPECT_EQ(alone.code, 2) << "--json needs --check";
  EXPECT_EQ(taken.code, 2);
  EXPECT_THAT(taken.output, HasSubstr("taken: is not empty"));
}

TEST_F(ReferenceCommandLine, AQuietRunPrintsNothingAndRecordsItsCommand) {
  const std::string arguments = run + record + " --quiet --without-split-backward";

  const Ended ended = reference(arguments);

  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output, "");
  std::vector<std::string> command{bin() + "/plumbline-reference"};
  std::istringstream words(arguments);
  for (std::string word; words >> word;) command.push_back(word);
  EXPECT_EQ(read_json(folder_ / "r/manifest.json").at("command"), Json(command));
  const CsvTable saved = read_csv(folder_ / "r/rank-0/saved.csv", {"input_bytes"});
  ASSERT_FALSE(saved.rows.empty());
  for (const CsvRow& row : saved.rows) EXPECT_EQ(row.cells[saved.column("input_bytes")], "") << "not measured";
}

TEST_F(CommandLine, ThePrintedCommandOfAFailedCaseFailsAgain) {
  const fs::path place = folder_ / "it's a $place";
  const auto script = [&](const std::string& name, const std::string& body) {
    const auto path = folder_.file("it's a $place/" + name, "#!/bin/bash\n" + body);
    fs::permissions(path, fs::perms::owner_all);
  };
  script("plumbline-pipeline",
         "while [ $# -gt 0 ]; do [ $1 = --record ] && mkdir -p \"$2/rank-0\"; shift; done; exit 1\n");
  script("plumbline-reference", "exec " + bin() + "/plumbline-reference \"$@\"\n");
  folder_.file("it's a $place/failing.toml",
               "checks = [\"loss\"]\n[[cell]]\nrun = \"" + fixtures_path() + "/runs/quick.toml\"\nworld_size = 2\n");

  const Ended first = plumbline(shell_command(
      {"sweep", (place / "failing.toml").string(), "--trainers", place.string(), "--out", (place / "out").string()}));

  EXPECT_EQ(first.code, 1) << first.output;
  const Verdict verdict = read_verdict(place / "out/verdict.json");
  ASSERT_EQ(verdict.cells.size(), 1U);
  const std::string command = verdict.cells[0].command;
  EXPECT_THAT(command, AllOf(HasSubstr("--trainers '"), HasSubstr("--out '")));
  const Ended again = end_of(command, folder_.path());
  EXPECT_EQ(again.code, 1) << command << "\n" << again.output;
  EXPECT_FALSE(read_verdict((place / "out").string() + "-" + verdict.cells[0].id + "/verdict.json").holds);
}

}  // namespace
}  // namespace plumbline::testing
