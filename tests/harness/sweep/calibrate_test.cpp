// SPDX-License-Identifier: BSD-3-Clause
// What `plumbline calibrate` refuses before it runs anything; the injected faults test that it works.
#include "harness/sweep/calibrate.hpp"

#include <algorithm>
#include <limits>

#include "support/error.hpp"
#include "tests/harness/fake_programs.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/paths.hpp"

namespace plumbline::testing {
namespace {

class Calibrate : public ::testing::Test {
 protected:
  Calibrate() {
    options_.run_file = fixtures_path() + "/runs/quick.toml";
    options_.folder = folder_ / "calibration";
    options_.trainers = folder_.path();
    // stands in for a trainer: it only ends, as a user's mistake would make it
    folder_.file("plumbline-reference", "#!/bin/sh\necho 'plumbline-reference: no such thing' >&2\nexit 2\n");
    std::filesystem::permissions(folder_ / "plumbline-reference", std::filesystem::perms::owner_all);
  }
  std::string refusal() {
    return error_of<InputError>([&] { calibrate(options_, signals_, stderr); });
  }
  TemporaryFolder folder_;
  StopSignals signals_;
  CalibrateOptions options_;
};

TEST_F(Calibrate, NeedsTwentyPerturbedRuns) {
  options_.null_runs = 19;

  EXPECT_THAT(refusal(), HasSubstr("--null 19: needs at least 20"));
}

TEST_F(Calibrate, OverwritesNothing) {
  folder_.file("calibration/precious.txt", "x");

  EXPECT_THAT(refusal(), HasSubstr("already exists"));
  options_.resume = true;
  EXPECT_THAT(refusal(), HasSubstr("does not contain a calibration to resume"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "calibration/precious.txt"));

  options_.resume = false;
  options_.folder = folder_.file("a-file", "");
  EXPECT_THAT(refusal(), HasSubstr("already exists"));
  EXPECT_TRUE(std::filesystem::is_regular_file(folder_ / "a-file"));
}

TEST_F(Calibrate, ReportsTheTrainersRefusalAndReleasesTheFolder) {
  EXPECT_THAT(refusal(), HasSubstr("quick.toml, reference: plumbline-reference: no such thing"));
  EXPECT_FALSE(std::filesystem::exists(options_.folder));

  std::filesystem::create_directory(options_.folder);
  EXPECT_THAT(refusal(), HasSubstr("quick.toml, reference: plumbline-reference: no such thing"));
  EXPECT_TRUE(std::filesystem::is_empty(options_.folder)) << "the user's own stays";
}

TEST_F(Calibrate, RefusesFloat64AndMixedPrecisionAndNeedsItsProgram) {
  for (const auto& [key, dtype] : {std::pair("dtype", "float64"), std::pair("precision", "mixed")}) {
    options_.run_file = folder_.file(
        "run.toml", std::string("[model]\nconfig = \"c.json\"\n[train]\n") + key + " = \"" + dtype + "\"\n");
    EXPECT_THAT(refusal(), HasSubstr("compare without limits (tier = \"bits\")"));
  }

  options_.run_file = fixtures_path() + "/runs/quick.toml";
  std::filesystem::remove(folder_ / "plumbline-reference");
  EXPECT_THAT(error_of<SystemError>([&] { calibrate(options_, signals_, stderr); }), HasSubstr("plumbline-reference"));
  EXPECT_FALSE(std::filesystem::exists(options_.folder));
}

/// A trainer that writes a record as the reference and ends with the code in `shadow-code` as the float64 reference.
class CalibrateInParts : public Calibrate {
 protected:
  CalibrateInParts() {
    write_run(synthetic_reference({}), folder_ / "prepared");
    forget_processes(folder_ / "prepared");
    program(folder_, "plumbline-reference",
            "base=$(dirname \"$0\")\necho \"$@\" >> $base/calls\n"
            "case \" $* \" in *\" --shadow \"*) echo 'no shadow' >&2; exit $(cat $base/shadow-code) ;; esac\n"
            "cp -r $base/prepared \"$3\"\n");
    shadow_ends_with(1);
    folder_.file("config.json", R"({"num_hidden_layers": 2})");
    options_.run_file = run_file("steps = 2");
  }
  std::filesystem::path run_file(const std::string& train) {
    return folder_.file("run.toml", "[model]\nconfig = \"config.json\"\n[train]\n" + train + "\n");
  }
  void shadow_ends_with(int code) { folder_.file("shadow-code", std::to_string(code)); }
  /// Up to the float64 reference, which fails.
  std::string stopped() {
    return error_of<RunError>([&] { calibrate(options_, signals_, stderr); });
  }
  int calls() const {
    const std::string all = bytes_of(folder_ / "calls");
    return static_cast<int>(std::ranges::count(all, '\n'));
  }
  std::string command(const std::string& name) const {
    return bytes_of(options_.folder / "launches" / name / "command.txt");
  }
};

TEST_F(CalibrateInParts, TheReferenceRunsOnTheDeviceAndTheFloat64ReferenceOnTheCpu) {
  options_.device = "cuda";
  options_.accumulation = folder_.file("order.csv", "unit,microbatch\n");

  EXPECT_THAT(stopped(), HasSubstr("shadow: "));

  const std::string order = " --accumulation " + (folder_ / "order.csv").string();
  EXPECT_THAT(command("reference"), EndsWith("--quiet --device cuda" + order + "\n"));
  EXPECT_THAT(command("shadow"), EndsWith("--quiet --shadow" + order + "\n"));
  EXPECT_THAT(bytes_of(options_.folder / "run.toml"), HasSubstr("level = 'dump'"));
}

TEST_F(CalibrateInParts, FinishedRunsAreKeptAndOthersRepeated) {
  stopped();
  EXPECT_EQ(calls(), 2);
  EXPECT_THAT(refusal(), HasSubstr("add --resume to continue the calibration in it"));

  options_.resume = true;
  stopped();

  EXPECT_EQ(calls(), 3) << "the shadow alone";
}

// Otherwise a reference would be compared with the limits of another run.
TEST_F(CalibrateInParts, IsNotResumedAfterAnInputChanged) {
  stopped();
  const auto good = options_;
  options_.resume = true;
  const auto expect_refused = [&](const char* what) {
    EXPECT_THAT(refusal(), HasSubstr("contains another calibration")) << what;
    options_ = good;
    options_.resume = true;
  };

  options_.device = "cuda";
  expect_refused("device");
  options_.accumulation = folder_.file("order.csv", "unit,microbatch\n");
  expect_refused("order");
  run_file("steps = 3");
  expect_refused("run file");
  run_file("steps = 2");
  folder_.file("config.json", R"({"num_hidden_layers": 3})");
  expect_refused("model");
  folder_.file("config.json", R"({"num_hidden_layers": 2})");
  const std::string trainer = bytes_of(folder_ / "plumbline-reference");
  folder_.file("plumbline-reference", trainer + "# another\n");
  expect_refused("trainer");
  folder_.file("plumbline-reference", trainer);
  Json mark = read_json(options_.folder / "calibrating.json");
  mark["schema"] = "plumbline-calibrating/0";
  write_json(options_.folder / "calibrating.json", mark);
  expect_refused("schema");
  EXPECT_EQ(calls(), 2) << "nothing was run";
}

TEST_F(CalibrateInParts, ARefusalAfterARunHasEndedRemovesNothing) {
  shadow_ends_with(2);
  EXPECT_THAT(refusal(), HasSubstr("no shadow"));
  EXPECT_TRUE(std::filesystem::exists(options_.folder / "reference/manifest.json"));

  options_.resume = true;
  shadow_ends_with(3);
  EXPECT_THAT(error_of<SystemError>([&] { calibrate(options_, signals_, stderr); }), HasSubstr("no shadow"));
}

class CalibrationOf : public ::testing::Test {
 protected:
  CalibrationOf() {
    calibration_.dtype = "bfloat16";
    calibration_.null_runs = 20;
    calibration_.limits[{0, "loss"}] = {1e-3, 2e-3, 2e-3, 8e-3, judging::LimitBy::null_runs};
    calibration_.limits[{1, "loss"}] = {3e-3, 1e-3, 3e-3, 12e-3, judging::LimitBy::null_runs};
  }
  judging::Calibration calibration_;
};

TEST_F(CalibrationOf, SaysHowFarApartRunsWereIfItHolds) {
  EXPECT_TRUE(null_runs_hold(calibration_));
  const std::string text = calibration_text(calibration_, "place");
  EXPECT_THAT(text, HasSubstr("2 limits from the reference and 20 perturbed references in bfloat16\n"));
  EXPECT_THAT(text, HasSubstr("largest error: reference " + judging::short_text(3e-3) + ", perturbed " +
                              judging::short_text(2e-3) + "\n"));
  EXPECT_THAT(text, HasSubstr("the allowance for other kernels"));
  EXPECT_THAT(text, Not(HasSubstr("the largest possible")));
  EXPECT_THAT(text, Not(HasSubstr("DOES NOT HOLD")));
  EXPECT_THAT(text, HasSubstr("place/candidate.toml"));
}

TEST_F(CalibrationOf, DoesNotHoldIfEquivalentChangesExceedIt) {
  calibration_.limits[{1, "loss"}] = {0.1, 0.5, 0.7, 0.5, judging::LimitBy::ceiling};
  EXPECT_TRUE(null_runs_hold(calibration_)) << "at the limit";
  EXPECT_THAT(calibration_text(calibration_, "place"),
              HasSubstr("\n1 limits are " + judging::short_text(judging::limit_ceiling)));
  EXPECT_THAT(calibration_text(calibration_, "place"), Not(HasSubstr("DOES NOT HOLD")));

  calibration_.limits[{1, "loss"}].null_most = 0.6;
  EXPECT_FALSE(null_runs_hold(calibration_));
  EXPECT_THAT(calibration_text(calibration_, "place"), HasSubstr("DOES NOT HOLD: for 1 items perturbed runs exceed"));

  calibration_.limits[{1, "loss"}].null_most = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(null_runs_hold(calibration_));
}

TEST_F(CalibrationOf, ReportsAPerturbedRunFarBeyondTheOthers) {
  calibration_.left_out = 2.5;
  calibration_.factor = 5;

  EXPECT_THAT(calibration_text(calibration_, "place"), HasSubstr("by which one perturbed run exceeded all others"));
}

}  // namespace
}  // namespace plumbline::testing
