// SPDX-License-Identifier: BSD-3-Clause
// Summary and exit code of a judged sweep.
#include "harness/commands/commands.hpp"
#include "tests/environment_variable.hpp"
#include "tests/harness/commands/finished_sweep.hpp"

namespace plumbline::testing {
namespace {

class JudgeCommand : public FinishedSweepFolder {
 protected:
  Result judge() {
    return command_result(
        [](CLI::App& app) {
          return add_judge_command(app, {{"version", "1"}});
        },
        "judge " + out_.string());
  }
};

TEST_F(JudgeCommand, SaysTheVerdictAndWhereThePageIs) {
  const Result held = judge();

  EXPECT_EQ(held.code, 0) << held.said;
  EXPECT_THAT(held.said,
              AllOf(StartsWith("rejudged from the records; nothing was run\nHOLDS IN PART: 1 of 3 cases\nEvery "
                               "pipeline run computed the same bits as the single device"),
                    EndsWith("\nreport: " + (out_ / "report.html").string() + "\n"), Not(HasSubstr("warning"))));
}

TEST_F(JudgeCommand, AFailureExitsWithOne) {
  tensor_row(cell_.candidate, 1, "gradient", "model.norm.weight").digest = other_digest;
  write_records();

  const Result red = judge();

  EXPECT_EQ(red.code, 1);
  EXPECT_THAT(red.said, HasSubstr("\nDOES NOT HOLD: 0 of 1 case holds, of 3 in the sweep\n1 case of 1 does not hold; "
                                  "the first divergence of each is below.\n"));
}

TEST_F(JudgeCommand, AReferenceThatFailsIsNamedWithItsCheck) {
  for (auto* run : {&cell_.reference, &cell_.candidate}) {
    for (auto& rank : run->ranks) {
      for (auto& row : rank.microbatches) {
        if (row.loss) row.loss = 0.25F * static_cast<float>(row.valid_tokens);
      }
      for (auto& row : rank.steps) {
        if (row.loss) row.loss = 2.5F;
      }
    }
  }
  write_records();

  const Result red = judge();

  EXPECT_EQ(red.code, 1);
  EXPECT_THAT(red.said, HasSubstr("\nreference r, bench incomplete: "));
}

TEST(SweepCommand, AShardIsOneOfSoManyAndKeepsAreNamed) {
  const auto given = [](const std::string& options) {
    return command_result([](CLI::App& app) { return add_sweep_command(app, "plumbline", "/nowhere", Json::object()); },
                          "sweep none.toml " + options);
  };
  for (const char* shard : {"0/3", "4/3", "1", "1/0", "x/3", "-1/3", "1/100001"}) {
    const Result refused = given(std::string("--shard=") + shard);
    EXPECT_EQ(refused.code, 2) << shard;
    EXPECT_THAT(refused.said, HasSubstr(std::string("--shard ") + shard + ": give i/n")) << shard;
  }
  EXPECT_THAT(given("--shard=3/3 --list").said, AllOf(HasSubstr("none.toml"), Not(HasSubstr("give i/n"))));
  EXPECT_EQ(given("--keep some").code, 2);
  EXPECT_EQ(given("--again").code, 2) << "without --resume";
}

// What it does where there are enough: tests/install/run.
TEST(SweepCommand, AsATestItIsSkippedIfGpusAreTooFew) {
  const auto given = [](const char* visible, const std::string& options) {
    const EnvironmentVariable variable("CUDA_VISIBLE_DEVICES", visible);
    return command_result([](CLI::App& app) { return add_sweep_command(app, "plumbline", "/nowhere", Json::object()); },
                          "sweep none.toml " + options);
  };
  const Result skipped = given("7", "--ctest /nowhere/out --gpus 2");

  EXPECT_EQ(skipped.code, 77);
  EXPECT_THAT(skipped.said, HasSubstr("skipped because it needs 2 GPUs, and 1 may be used here\n"));
  EXPECT_THAT(given("", "--ctest /nowhere/out --gpus 2").said, HasSubstr("CUDA_VISIBLE_DEVICES names no GPU"));
  EXPECT_THAT(given("7,8", "--ctest /nowhere/out --gpus 2").said, HasSubstr("none.toml"));
  EXPECT_EQ(given("7,8", "--gpus 2").code, 2) << "without --ctest";
  EXPECT_EQ(given("7,8", "--ctest /nowhere/out --out /nowhere/else").code, 2);
}

}  // namespace
}  // namespace plumbline::testing
