// SPDX-License-Identifier: BSD-3-Clause
// The pipeline trainer's command line: each option has its effect, and errors name the option.
#include "pipeline/program.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "record/manifest.hpp"
#include "support/error.hpp"
#include "support/json_text.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

const std::string quick = testing::fixtures_path() + "/runs/quick.toml";

struct Said {
  int code = 0;
  std::string out, err;
};

/// Runs the program with these arguments. `err` includes what it throws for main() to report.
Said program(std::vector<std::string> words) {
  words.insert(words.begin(), "plumbline-pipeline");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  Said said;
  std::string thrown;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  try {
    said.code = run_pipeline_program(static_cast<int>(words.size()), arguments.data());
  } catch (const Error& error) {
    said.code = static_cast<int>(error.code());
    thrown = error.what();
  }
  std::cout.flush();
  said.out = ::testing::internal::GetCapturedStdout();
  said.err = ::testing::internal::GetCapturedStderr() + thrown;
  return said;
}

TEST(PipelineProgram, AppliesAndRecordsItsOptions) {
  const testing::TemporaryFolder folder;
  const std::string text = folder.file("other.txt", std::string(2000, 'x')).string(), record = (folder / "r").string();
  const std::vector<std::string> options{quick,  "--transport", "threads", "--ranks",    "2",    "--record",
                                         record, "--text",      text,      "--schedule", "afab", "--quiet"};

  const Said said = program(options);

  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out + said.err, "");
  const Manifest manifest = read_manifest(record);
  EXPECT_EQ(manifest.world_size, 2);
  EXPECT_EQ(manifest.schedule_name, "afab");
  EXPECT_EQ(manifest.transport, "threads");
  EXPECT_EQ(manifest.json.at("data").at("source"), text);
  std::vector<std::string> command{"plumbline-pipeline"};
  command.insert(command.end(), options.begin(), options.end());
  EXPECT_EQ(manifest.json.at("command"), Json(command));
}

TEST(PipelineProgram, NamesWrongOptions) {
  const Said unknown = program({quick, "--recrod", "r"});
  const Said none = program({quick, "--transport", "threads", "--ranks", "0", "--record", "/nowhere"});

  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, AllOf(StartsWith("plumbline-pipeline: "), HasSubstr("--recrod")));
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("--ranks: "));
}

TEST(PipelineProgram, HelpSucceeds) {
  const Said said = program({"--help"});

  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.out, HasSubstr("--schedule NAME"));
}

TEST(PipelineProgram, ACheckShowsTheMemoryOfEachNumberOfRanks) {
  const Said checked = program({quick, "--check"});

  EXPECT_EQ(checked.code, 0);
  EXPECT_THAT(checked.out, AllOf(HasSubstr("\nreference "), HasSubstr("\n8 ranks ")));
  EXPECT_THAT(program({"--check"}).err, HasSubstr("--check: give a run file"));
  EXPECT_THAT(program({}).err, HasSubstr("give a run file, with --record DIR or --checkpoint DIR"));
}

TEST(PipelineProgram, ACheckAnswersWithEveryDefaultAndThePlan) {
  const Said said = program({quick, "--check", "--json", "--ranks", "2", "--schedule", "GPipe"});

  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.err, "");
  const Json answer = parse_json("check", said.out);
  EXPECT_EQ(answer.at("schema"), "plumbline-check/1");
  EXPECT_EQ(answer.at("can_run"), true);
  EXPECT_EQ(answer.at("message"), nullptr);
  EXPECT_EQ(answer.at("plan").at("ranks"), 2);
  EXPECT_EQ(answer.at("plan").at("schedule"), "afab");
  EXPECT_EQ(answer.at("plan").at("stages").size(), 2U);
  EXPECT_EQ(answer.at("memory").at("ranks").size(), 2U);
  const Json& run = answer.at("run");
  EXPECT_EQ(run.at("pipeline").at("timeout_ms"), 600000) << "a default of the run file";
  EXPECT_EQ(run.at("train").at("optimizer").at("beta1"), 0.9);
  EXPECT_EQ(run.at("model").at("layers"), 5);
  EXPECT_EQ(run.at("record").at("level"), "full");
}

TEST(PipelineProgram, ACheckReportsTheObstacle) {
  const testing::TemporaryFolder folder;
  const auto run =
      folder.file("run.toml", "[model]\nconfig = \"" + testing::fixtures_path() +
                                  "/models/stories260k/config.json\"\n[data]\ntext = \"" + testing::fixtures_path() +
                                  "/corpus\"\nlengths = [7, 4]\n[train]\nsteps = 2\n");
  struct Case {
    std::vector<std::string> words;
    int code;
    std::string said;
  };
  const std::string large = "[model]\nconfig = \"large.json\"\n[data]\ntext = \"" + testing::fixtures_path() +
                            "/corpus\"\nlengths = [7]\n[train]\nsteps = 1\n";
  Json config = read_json(testing::fixtures_path() + "/models/stories260k/config.json");
  config["hidden_size"] = 65536;
  config["intermediate_size"] = 1048576;
  config["num_hidden_layers"] = 1000;
  folder.file("large.json", config.dump());
  const std::vector<Case> cases = {
      {{run.string(), "--schedule", "dualpipe-v", "--ranks", "2"}, 2, "at least 2 microbatches per rank"},
      {{run.string(), "--transport", "tcp"}, 2, "did you mean mpi?"},
      {{(folder / "none.toml").string()}, 2, "none.toml"},
      {{run.string(), "--text", "/nowhere.txt"}, 2, "/nowhere.txt"},
      {{folder.file("large.toml", large).string()}, 3, "memory"}};
  for (Case each : cases) {
    each.words.insert(each.words.end(), {"--check", "--json"});
    const Said said = program(each.words);

    EXPECT_EQ(said.code, each.code) << each.said;
    EXPECT_THAT(said.err, AllOf(StartsWith("plumbline-pipeline: "), HasSubstr(each.said)));
    const Json answer = parse_json("check", said.out);
    EXPECT_EQ(answer.at("can_run"), false);
    EXPECT_EQ(answer.at("exit_code"), each.code);
    EXPECT_THAT(answer.at("message").get<std::string>(), HasSubstr(each.said));
  }
}

TEST(PipelineProgram, ARunPrintsASummary) {
  const testing::TemporaryFolder folder;
  const std::string record = (folder / "r").string();

  const Said said = program({quick, "--transport", "threads", "--ranks", "2", "--record", record});

  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_THAT(
      said.err,
      AllOf(HasSubstr("on 2 ranks over threads (cpu): schedule 1f1b, uniform partition: stages of 3, 2 layers\n"),
            HasSubstr("5 layers, "), HasSubstr("record (level full) in " + record + "\n"),
            HasSubstr("\ndone: record (level full) in " + record + "\n")));
}

TEST(PipelineProgram, CapabilitiesNameTheProgramItsTransportsAndItsSchedules) {
  const Said said = program({"--capabilities"});

  ASSERT_EQ(said.code, 0);
  const Json capabilities = parse_json("capabilities", said.out);
  EXPECT_EQ(capabilities.at("program"), "plumbline-pipeline");
  EXPECT_THAT(capabilities.at("transports").get<std::vector<std::string>>(), IsSupersetOf({"mpi", "threads"}));
  EXPECT_THAT(capabilities.at("schedules").get<std::vector<std::string>>(), IsSupersetOf({"1f1b", "afab", "zb-v"}));
}

}  // namespace
}  // namespace plumbline
