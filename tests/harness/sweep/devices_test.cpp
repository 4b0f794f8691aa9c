// SPDX-License-Identifier: BSD-3-Clause
// Devices of a sweep's trainers: their kind, and the GPUs of each case with parallel jobs.
#include "tests/environment_variable.hpp"
#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

/// A reference and a cell of two ranks, which note the GPUs that they may see.
class Devices : public RunSweep {
 protected:
  Devices() {
    behave("[ $me = 0 ] && echo \"${CUDA_VISIBLE_DEVICES-all}\" >> $base/sees-$(basename $record)\n");
    cells("device = \"cuda\"\n");
  }
  void cells(const std::string& keys) {
    sweep_file(keys + "run = [\"a.toml\"]\nworld_sizes = [2]\nschedules = [\"1f1b\"]\n");
  }
  std::string sees(const std::string& record) const { return bytes_of(folder_ / ("sees-" + record)); }

  static constexpr const char* variable = "CUDA_VISIBLE_DEVICES";
  const EnvironmentVariable own_{variable, nullptr};  ///< put back at the end
};

TEST_F(Devices, AllTrainersGetTheDeviceAndASingleRunSeesAllGpus) {
  EXPECT_TRUE(run().verdict.holds);

  EXPECT_EQ(sees("a"), "all\n");
  EXPECT_EQ(sees("a-1f1b-w2"), "all\n");
  for (const std::string id : {"reference-a", "a-1f1b-w2"})
    EXPECT_THAT(bytes_of(folder_ / "out/launches" / id / "command.txt"), HasSubstr(" --device cuda")) << id;
}

TEST_F(Devices, ParallelRunsHaveTheirOwnVisibleGpus) {
  struct Case {
    const char *visible, *reference, *candidate;
    int jobs;
  };
  for (const auto& [visible, reference, candidate, jobs] :
       {Case{"0,1,2", "0\n", "0,1\n", 3}, Case{"2,3", "2\n", "2,3\n", 2}}) {
    setenv(variable, visible, 1);
    options_.jobs = jobs;
    options_.out = folder_ / visible;
    EXPECT_TRUE(run().verdict.holds);
    EXPECT_EQ(sees("a"), reference);
    EXPECT_EQ(sees("a-1f1b-w2"), candidate);
    for (const char* record : {"a", "a-1f1b-w2"}) fs::remove(folder_ / ("sees-" + std::string(record)));
  }
}

TEST_F(Devices, MoreJobsThanVisibleGpusAreRefused) {
  struct Case {
    const char* visible;
    const char* words;
  };
  for (const auto& [visible, words] : {Case{"2,3", "may use only 2 GPUs (2,3)"}, Case{"5", "may use only 1 GPU (5)"},
                                       Case{"1,2,-1,3,4", "may use only 2 GPUs (1,2)"}}) {
    setenv(variable, visible, 1);
    options_.jobs = 4;
    EXPECT_THAT(error_of<SystemError>([&] { run(); }), AllOf(HasSubstr("--jobs 4: "), HasSubstr(words)));
    EXPECT_THAT(calls(), IsEmpty());
  }
}

// Which values the variable may not have: visible_gpus_test.cpp.
TEST_F(Devices, MissingDevicesAreReportedBeforeTheFirstRun) {
  for (const char* none : {"", "-1"}) {
    setenv(variable, none, 1);
    EXPECT_THAT(error_of<SystemError>([&] { run(); }),
                AllOf(HasSubstr(std::string(variable) + " is \"" + none + "\""), HasSubstr("name GPUs in it")));
  }
  setenv(variable, "0,0", 1);
  EXPECT_THAT(error_of<InputError>([&] { run(); }), HasSubstr("it names GPU 0 twice"));
  EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(Devices, OnTheCpuNothingIsHidden) {
  setenv(variable, "5,7", 1);
  cells("");
  options_.jobs = 2;

  EXPECT_TRUE(run().verdict.holds);

  EXPECT_EQ(sees("a-1f1b-w2"), "5,7\n");
  EXPECT_THAT(bytes_of(folder_ / "out/launches/a-1f1b-w2/command.txt"), Not(HasSubstr("--device")));
}

}  // namespace
}  // namespace plumbline::testing
