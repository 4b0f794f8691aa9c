// SPDX-License-Identifier: BSD-3-Clause
// What a calibration says of its limits; tests/approved/commands/calibrate.txt has the command, and the injected faults
// test that it works.
#include "harness/sweep/calibrate.hpp"

#include <limits>

#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

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
