// SPDX-License-Identifier: BSD-3-Clause
// `plumbline record`: what each subcommand prints or writes, and its exit code.

#include "harness/commands/commands.hpp"
#include "tests/harness/commands/finished_sweep.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/record/mesh_json.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AnyOf;

class RecordCommand : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, bool right = true) {
    SyntheticRun record = synthetic_candidate({});
    if (!right) record.ranks[0].steps[0].clip_coefficient = 0.75;
    write_run(record, folder_ / name);
    return folder_ / name;
  }
  /// The folder of a run of two pipelines, of which the second makes a mistake.
  std::string write_two_pipelines() {
    for (const int replica : {0, 1}) {
      SyntheticRun record = synthetic_candidate({});
      if (replica == 1) record.ranks[0].steps[0].clip_coefficient = 0.75;
      record.manifest["role"] = "external";
      record.manifest["mesh"] = mesh_json({{"dp", 2}, {"pp", 2}}, {{0, 1}, {2, 3}}, replica);
      write_run(record, folder_ / ("run/replica-" + std::to_string(replica)));
    }
    return (folder_ / "run").string();
  }
  Result run(const std::string& words) { return command_result(add_record_command, "record " + words); }

  TemporaryFolder folder_;
};

TEST_F(RecordCommand, CheckEndsWithOneWhereSomethingWasFound) {
  const Result right = run("check " + write("right").string());
  const std::string wrong = write("wrong", false).string();

  EXPECT_EQ(right.code, 0) << right.said;
  EXPECT_THAT(right.said, EndsWith("\nHOLDS\n"));
  const Result red = run("check " + wrong), json = run("check --json " + wrong);
  EXPECT_EQ(red.code, 1);
  EXPECT_THAT(red.said, EndsWith("\nDOES NOT HOLD\n"));
  EXPECT_EQ(json.code, 1);
  EXPECT_EQ(Json::parse(json.said).at("holds"), false);
  EXPECT_EQ(run("check " + (folder_ / "none").string()).code, 2);
}

TEST_F(RecordCommand, ATraceShowsTheRequestedStep) {
  const std::string record = write("right").string(), out = (folder_ / "t.json").string();
  const auto steps = [&](const std::string& options) {
    const Result written = run("trace " + record + " --out " + out + options);
    EXPECT_EQ(written.code, 0) << written.said;
    EXPECT_THAT(written.said, StartsWith(out + ": open it at "));
    const Json trace = read_json(out);
    std::set<std::int64_t> found;
    for (const Json& event : trace.at("traceEvents")) {
      if (event.contains("args") && event.at("ph") == "X")
        found.insert(event.at("args").at("step").get<std::int64_t>());
    }
    return found;
  };

  EXPECT_THAT(steps(""), ElementsAre(0, 1));
  EXPECT_THAT(steps(" --step 1"), ElementsAre(1));
}

TEST_F(RecordCommand, ShowIsOfARecordAndRulesAreTheJudges) {
  const Result shown = run("show " + write("right").string()), rules = run("rules");

  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.said, AllOf(StartsWith("record  "), HasSubstr("2 ranks, 2 steps")));
  EXPECT_EQ(rules.code, 0);
  EXPECT_THAT(rules.said, StartsWith("check              level "));
}

TEST_F(RecordCommand, TheSelectedPipelineIsCheckedShownAndTraced) {
  const std::string folder = write_two_pipelines(), out = (folder_ / "t.json").string();

  EXPECT_EQ(run("check " + folder + " --replica 0").code, 0);
  EXPECT_EQ(run("check " + folder + " --replica 1").code, 1);
  EXPECT_THAT(run("show " + folder + " --replica 1").said, HasSubstr("dp 1 (replica 1), ranks 2, 3 of the run"));
  EXPECT_EQ(run("trace " + folder + " --out " + out + " --replica 1").code, 0);
  EXPECT_TRUE(std::filesystem::exists(out));
  for (const char* command : {"check ", "show ", "trace "})
    EXPECT_EQ(run(command + folder).code, 2) << command << "and none was chosen";
}

TEST_F(RecordCommand, ATraceGoesToAFileThatTheHelpNames) {
  CLI::App app;
  add_record_command(app);

  EXPECT_THAT(
      app.get_subcommand("record")->get_subcommand("trace")->help(),
      AnyOf(HasSubstr("=trace.json "), HasSubstr(" [trace.json] ")));  // as CLI11 writes a default, up to 2.3 and since
}

}  // namespace
}  // namespace plumbline::testing
