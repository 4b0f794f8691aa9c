// What `plumbline calibrate` refuses before it runs anything; that it works is shown by the canaries.
#include "harness/sweep/calibrate.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

class Calibrate : public ::testing::Test {
 protected:
  Calibrate() {
    options_.run_file = PLUMBLINE_FIXTURES "/runs/quick.toml";
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

  EXPECT_THAT(refusal(), HasSubstr("--null 19: at least 20"));
}

TEST_F(Calibrate, HasNothingToMeasureInFloat64) {
  options_.run_file = folder_.file("run.toml", "[model]\nconfig = \"c.json\"\n[train]\ndtype = \"float64\"\n");

  EXPECT_THAT(refusal(), HasSubstr("float64 has no shadow"));
}

TEST_F(Calibrate, OverwritesNothing) {
  folder_.file("calibration/precious.txt", "x");

  EXPECT_THAT(refusal(), HasSubstr("is there already"));
  options_.resume = true;
  EXPECT_THAT(refusal(), HasSubstr("holds no calibration to go on with"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "calibration/precious.txt"));
}

TEST_F(Calibrate, PassesTheTrainersRefusalOnAndLeavesTheFolderFree) {
  EXPECT_THAT(refusal(), HasSubstr("quick.toml, reference: plumbline-reference: no such thing"));
  EXPECT_FALSE(std::filesystem::exists(options_.folder));
}

}  // namespace
}  // namespace plumbline::testing
