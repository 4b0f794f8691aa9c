// `plumbline record`: what each subcommand prints or writes, and its exit code.
#include "harness/commands/record_command.hpp"

#include <set>

#include "tests/harness/commands/finished_sweep.hpp"
#include "tests/harness/judge/audit/trained_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class RecordCommand : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, Mistake mistake) {
    TrainedRun trained{synthetic_candidate(trained_plan("sgd", true)), "float32", mistake};
    return trained.write(folder_ / name);
  }
  Result run(const std::string& words) { return result_of(add_record_command, "record " + words); }

  TemporaryFolder folder_;
};

TEST_F(RecordCommand, CheckEndsWithOneWhereSomethingWasFound) {
  const Result right = run("check " + write("right", Mistake::none).string());
  const std::string wrong = write("wrong", Mistake::clip_with_epsilon).string();

  EXPECT_EQ(right.code, 0) << right.said;
  EXPECT_THAT(right.said, EndsWith("\nHOLDS\n"));
  const Result red = run("check " + wrong), json = run("check --json " + wrong);
  EXPECT_EQ(red.code, 1);
  EXPECT_THAT(red.said, EndsWith("\nDOES NOT HOLD\n"));
  EXPECT_EQ(json.code, 1);
  EXPECT_EQ(Json::parse(json.said).at("holds"), false);
  EXPECT_EQ(run("check " + (folder_ / "none").string()).code, 2);
}

TEST_F(RecordCommand, ATraceIsOfTheStepAskedFor) {
  const std::string record = write("right", Mistake::none).string(), out = (folder_ / "t.json").string();
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
  const Result shown = run("show " + write("right", Mistake::none).string()), rules = run("rules");

  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.said, AllOf(StartsWith("record  "), HasSubstr("2 ranks, 2 steps")));
  EXPECT_EQ(rules.code, 0);
  EXPECT_THAT(rules.said, StartsWith("check              level "));
}

}  // namespace
}  // namespace plumbline::testing
