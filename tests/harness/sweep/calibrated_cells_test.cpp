// SPDX-License-Identifier: BSD-3-Clause
// Sweeps in the mode calibrated with fakes: a reference trainer that provides prepared records. All perturbed runs but
// one exist already, so that a sweep starts few programs.
#include "tests/harness/judge/limits/dumped_run.hpp"
#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

class CalibratedCells : public RunSweep {
 protected:
  CalibratedCells() {
    DumpedRun{synthetic_reference({.level = "dump"}), 1}.write(folder_ / "one");
    DumpedRun{synthetic_reference({.level = "dump"}), 0, true}.write(folder_ / "shadow");
    forget_processes(folder_.path());
    shadow_ends_with(0);
    behave(
        "[ $1 = --mixed-gpus ] && { shift; run=$1; record=$3; }\n"
        "case \" $* \" in *' --quiet '*) echo \"${@:4}\" >> $base/calibrating\n"
        "  case \" $* \" in *' --shadow '*) cp -r $base/shadow $record; exit $(cat $base/shadow-code) ;; esac\n"
        "  cp -r $base/one $record; exit 0 ;;\n"
        "esac\n");
    cells("");
  }
  void shadow_ends_with(int code) { folder_.file("shadow-code", std::to_string(code)); }
  void cells(const std::string& more, const std::string& worlds = "[2]") {
    sweep_file("tier = \"calibrated\"\nchecks = [\"loss\"]\nrun = [\"a.toml\"]\nworld_sizes = " + worlds +
               "\nschedules = [\"1f1b\"]\n" + more);
  }
  /// Begins the calibration, which stops at its float64 reference; then adds perturbed runs from the second on, the
  /// last with the given error.
  void begin_calibration(double last_error = 0) {
    shadow_ends_with(1);
    begun_ = run().verdict;
    const Record one = read_record(folder_ / "one"), truth = read_record(folder_ / "shadow");
    Json errors = Json::array();
    for (const auto& [item, error] : judging::measure_errors(one, truth)) {
      errors.push_back({item.step, item.name, error.error, error.truth_zero});
    }
    for (int number = 2; number <= 20; ++number) {
      if (number == 20 && last_error > 0) errors[0][2] = last_error;
      make_folder(place_ / "null");
      write_json(place_ / "null" / (std::to_string(number) + ".json"), errors);
    }
    shadow_ends_with(0);
    fs::remove(folder_ / "calls");
    fs::remove(folder_ / "calibrating");
    options_.resume = true;
  }

  const fs::path out_ = folder_ / "out", place_ = out_ / "calibrations/a";
  Verdict begun_;
};

TEST_F(CalibratedCells, CasesOfAFailedCalibrationAreReportedAsNotRun) {
  begin_calibration();

  EXPECT_FALSE(begun_.holds);
  EXPECT_THAT(begun_.cells, IsEmpty());
  EXPECT_THAT(begun_.not_run,
              ElementsAre(AllOf(HasSubstr("a-1f1b-w2: reference a did not finish"), HasSubstr("a.toml, shadow: "))));
  EXPECT_THAT(bytes_of(folder_ / "log"), HasSubstr("[1/2] calibration-a"));
  EXPECT_THAT(bytes_of(folder_ / "log"), HasSubstr("FAILED\n  "));
}

TEST_F(CalibratedCells, AResumedCalibrationSetsTheLimitsOfItsCases) {
  begin_calibration();

  const auto result = run();

  EXPECT_TRUE(result.verdict.holds) << bytes_of(folder_ / "log");
  EXPECT_EQ(bytes_of(folder_ / "calibrating"), "--quiet --shadow\n--quiet --perturb 1 --device cpu\n")
      << "its reference has ended, and perturbed runs 2 to 20";
  EXPECT_THAT(calls(),
              ElementsAre("plumbline-reference shadow", "plumbline-reference 1", "plumbline-pipeline a-1f1b-w2"));
  EXPECT_FALSE(fs::exists(place_ / "null/1")) << "its dumps are large";
  EXPECT_TRUE(fs::exists(place_ / "null/1.json"));
  EXPECT_TRUE(fs::exists(out_ / "references/a/manifest.json")) << "the calibration's";
  ASSERT_THAT(judged_, SizeIs(1));
  EXPECT_EQ(judged_[0].calibration, place_ / "calibration.json");
  EXPECT_TRUE(fs::exists(place_ / "calibration.json"));
  EXPECT_EQ(judged_[0].request->level, "dump");
  EXPECT_EQ(judged_[0].reference_request->level, "dump");
  EXPECT_EQ(judged_[0].reference_launch->exit_code, 0);
  EXPECT_GT(judged_[0].reference_launch->seconds, 0) << "of the calibration's first run";
  EXPECT_EQ(to_json(read_launch_finding(out_ / "launches/reference-a/finding.json")),
            to_json(*judged_[0].reference_launch))
      << "to judge by again";
  EXPECT_THAT(bytes_of(folder_ / "log"), ::testing::ContainsRegex("calibration-a  [0-9.]+ s  done\n"));
  const std::string text = bytes_of(out_ / "launches/a-1f1b-w2/run.toml");
  EXPECT_THAT(text, AllOf(HasSubstr("../../calibrations/a/reference/rank-0/dumps/step-initial.safetensors"),
                          HasSubstr("level = 'dump'")));
}

TEST_F(CalibratedCells, WhatIsCalibratedIsNotCalibratedAgain) {
  begin_calibration();
  run();
  fs::remove(folder_ / "calls");

  EXPECT_TRUE(run().verdict.holds);

  EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(CalibratedCells, ACalibrationThatEquivalentChangesExceedLeavesItsCasesUnjudged) {
  begin_calibration(0.9);

  const auto result = run();

  EXPECT_FALSE(result.verdict.holds);
  EXPECT_THAT(result.verdict.not_run,
              ElementsAre(HasSubstr("perturbed references exceed the largest limit of its calibration")));
  EXPECT_THAT(judged_, IsEmpty());
}

TEST_F(CalibratedCells, TheSecondRunUsesTheSameLimitsAndIsAlreadyDumped) {
  begin_calibration();
  const auto judge = services_.judge;
  std::vector<fs::path> candidates;
  services_.judge = [&](const CellPlan& plan, const fs::path& reference, const fs::path& candidate,
                        const std::optional<fs::path>& repeated) {
    CellVerdict verdict = judge(plan, reference, candidate, repeated);
    candidates.push_back(candidate);
    verdict.holds = false;
    verdict.checks[0].name = "loss";
    verdict.checks[0].outcome = Outcome::differs;
    verdict.first_divergence.emplace();
    return verdict;
  };

  run();

  EXPECT_THAT(candidates, ElementsAre(out_ / "cells/a-1f1b-w2", out_ / "again/a-1f1b-w2"));
  EXPECT_EQ(judged_.at(1).calibration, place_ / "calibration.json");
  EXPECT_THAT(bytes_of(out_ / "launches/again-a-1f1b-w2/run.toml"), HasSubstr("step-initial.safetensors"));
}

TEST_F(CalibratedCells, TrainersGetTheDeviceAndWhetherGpusAreMixed) {
  cells("device = \"cuda\"\nmixed_gpus = true\n");
  begin_calibration();

  const auto result = run();

  EXPECT_TRUE(result.verdict.holds) << bytes_of(folder_ / "log");
  EXPECT_THAT(bytes_of(folder_ / "calibrating"), HasSubstr("--perturb 1 --device cuda"));
  EXPECT_THAT(bytes_of(out_ / "launches/a-1f1b-w2/command.txt"),
              AllOf(HasSubstr("plumbline-pipeline --mixed-gpus "), HasSubstr(" --device cuda")));
}

TEST_F(CalibratedCells, ACasesOwnSettingsAreCalibrated) {
  cells("optimizers = [\"sgd\"]\n");
  shadow_ends_with(1);

  run();

  EXPECT_THAT(bytes_of(out_ / "calibrations/a-sgd/run.toml"), HasSubstr("optimizer = 'sgd'"));
}

TEST_F(CalibratedCells, TheCalibrationSumsInTheCasesOrder) {
  folder_.file("down.csv", "0F0,0F1,0B1,0B0\n1F0,1F1,1B1,1B0\n");
  sweep_file(
      "tier = \"calibrated\"\nchecks = [\"loss\"]\nrun = [\"a.toml\"]\nworld_sizes = [2]\nschedules = "
      "[\"down.csv\"]\n");
  shadow_ends_with(1);

  run();

  const std::string calibrating = bytes_of(folder_ / "calibrating");
  const std::size_t at = calibrating.find("--accumulation ");
  ASSERT_NE(at, std::string::npos) << calibrating;
  const std::string file = calibrating.substr(at + 15, calibrating.find('\n', at) - at - 15);
  EXPECT_THAT(file, HasSubstr("/launches/calibration-a-order-"));
  EXPECT_THAT(bytes_of(file), HasSubstr("layers.1,1\nlayers.1,0\n"));
}

}  // namespace
}  // namespace plumbline::testing
