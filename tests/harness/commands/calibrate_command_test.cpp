// SPDX-License-Identifier: BSD-3-Clause
// `plumbline calibrate`: the runs with their options, the output, and the exit code.
#include "harness/commands/commands.hpp"
#include "tests/harness/commands/finished_sweep.hpp"
#include "tests/harness/fake_programs.hpp"
#include "tests/harness/judge/limits/dumped_run.hpp"

namespace plumbline::testing {
namespace {

/// The trainer leaves records that lie ready; the shadow is refused for as long as a file says so.
class CalibrateCommand : public ::testing::Test {
 protected:
  CalibrateCommand() {
    program(folder_, "trainers/plumbline-reference",
            "base=$(dirname \"$0\")/..\n"
            "case \" $* \" in *\" --shadow \"*) of=shadow ;; *) of=reference ;; esac\n"
            "[ $of = shadow ] && [ -e $base/refuse ] && { echo 'plumbline-reference: refused' >&2; exit 2; }\n"
            "cp -r $base/$of \"$3\"\n");
    folder_.file("config.json", R"({"num_hidden_layers": 2})");
    folder_.file("run.toml", "[model]\nconfig = \"config.json\"\n[train]\nsteps = 2\n");
    folder_.file("refuse", "");
    const SyntheticPlan plan{.level = "dump"};
    DumpedRun{synthetic_reference(plan), 1}.write(folder_ / "reference");
    DumpedRun{synthetic_reference(plan), 0, true}.write(folder_ / "shadow");
    forget_processes(folder_.path());
  }
  /// As if all perturbed runs had ended, each value so much farther off than the reference's.
  void end_perturbed_runs(double farther) {
    Json errors = Json::array();
    for (const auto& [item, error] :
         judging::measure_errors(read_record(folder_ / "reference"), read_record(folder_ / "shadow")))
      errors.push_back({item.step, item.name, error.error + farther, error.truth_zero});
    make_folder(out_ / "null");
    for (int run = 1; run <= 20; ++run) write_json(out_ / "null" / (std::to_string(run) + ".json"), errors);
  }
  Result run(const std::string& words = "") {
    const auto add = [](CLI::App& app) { return add_calibrate_command(app, "no/such/trainers"); };
    return command_result(add, "calibrate " + (folder_ / "run.toml").string() + " --record " + out_.string() +
                                   " --trainers " + (folder_ / "trainers").string() + " " + words);
  }

  TemporaryFolder folder_;
  const std::filesystem::path out_ = folder_ / "out";
};

TEST_F(CalibrateCommand, EndsWithZeroWherePerturbedRunsLieWithinTheLimitsAndWithOneWhereNot) {
  EXPECT_EQ(run().code, 2);
  std::filesystem::remove(folder_ / "refuse");
  end_perturbed_runs(0);

  const Result within = run("--resume");
  EXPECT_EQ(within.code, 0) << within.said;
  EXPECT_THAT(within.said, AllOf(HasSubstr(" and 20 perturbed references in float32\n"),
                                 EndsWith("plumbline compare " + (out_ / "reference").string() +
                                          " CANDIDATE --calibration " + (out_ / "calibration.json").string() + "\n")));
  end_perturbed_runs(1);  // twice what a limit can be
  const Result beyond = run("--resume");
  EXPECT_EQ(beyond.code, 1);
  EXPECT_THAT(beyond.said, HasSubstr("DOES NOT HOLD: for "));
}

TEST_F(CalibrateCommand, DeviceAndOrderReachTheReferenceAndARefusalIsReported) {
  const std::string order = folder_.file("order.csv", "unit,microbatch\n").string();

  const Result refused = run("--device cuda --accumulation " + order);

  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.said, HasSubstr("shadow: plumbline-reference: refused"));
  EXPECT_THAT(bytes_of(out_ / "launches/reference/command.txt"),
              EndsWith(" --device cuda --accumulation " + order + "\n"));
  EXPECT_THAT(run("--device gpu").said, HasSubstr("--device: "));
}

}  // namespace
}  // namespace plumbline::testing
