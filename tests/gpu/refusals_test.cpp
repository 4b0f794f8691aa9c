// SPDX-License-Identifier: BSD-3-Clause
// What a user of the CUDA build sees if GPUs cannot be used, and that the CPU path does not load CUDA.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "tests/ended.hpp"
#include "tests/gpu/assigned_gpus.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using testing::Ended;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string run = testing::fixtures_path() + "/runs/quick.toml";
const std::string reference = testing::bin_path() + "/plumbline-reference";
const std::string pipeline = testing::bin_path() + "/plumbline-pipeline";
const std::string three_ranks = PLUMBLINE_MPI_COMMAND " ";

class GpuRefusals : public ::testing::Test {
 protected:
  Ended end_of(const std::string& command) const { return testing::end_of(command, folder_.path()); }
  std::string record() const { return " --quiet --record " + (folder_ / "record").string(); }
  bool record_is_free() const {
    const auto path = folder_ / "record";
    return !std::filesystem::exists(path) || std::filesystem::is_empty(path);
  }
  void needs_a_machine_without_a_driver() {
    if (load_gpu_module().versions().driver != 0) GTEST_SKIP() << "this machine has a driver";
  }

  testing::TemporaryFolder folder_;
};

/// Contains the text exactly once, not once for each rank.
MATCHER_P(SaysOnce, text, "") {
  const auto at = arg.find(text);
  return at != std::string::npos && arg.find(text, at + 1) == std::string::npos;
}

TEST_F(GpuRefusals, NoDriverIsReportedOnce) {
  needs_a_machine_without_a_driver();
  if (IsSkipped()) return;

  for (const std::string& command :
       {reference + " " + run, pipeline + " " + run + " --transport threads --ranks 2",
        three_ranks + pipeline + " " + run, three_ranks + pipeline + " " + run + " --transport nccl"}) {
    const Ended ended = end_of(command + " --device cuda" + record());

    EXPECT_EQ(ended.code, 3) << command;
    EXPECT_THAT(ended.output, SaysOnce("there is no NVIDIA driver on this machine")) << command;
    EXPECT_TRUE(record_is_free());
  }
}

TEST_F(GpuRefusals, ASecondNcclInTheProcessIsNamed) {
  const Ended ended =
      end_of("LD_PRELOAD=" PLUMBLINE_SECOND_NCCL " " + reference + " " + run + " --device cuda" + record());

  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.output, AllOf(HasSubstr("2 different libnccl"), HasSubstr(PLUMBLINE_SECOND_NCCL)));
  EXPECT_TRUE(record_is_free());
}

TEST_F(GpuRefusals, AnOlderNcclThanTheHeaderIsNamed) {
  const Ended ended =
      end_of("LD_PRELOAD=" PLUMBLINE_OLD_NCCL " " + reference + " " + run + " --device cuda" + record());

  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.output, AllOf(HasSubstr("NCCL 2.16.5 is loaded"), HasSubstr("2.17.0 or newer")));
}

TEST_F(GpuRefusals, NcclWithoutGpusIsACommandLineError) {
  const Ended ended = end_of(three_ranks + pipeline + " " + run + " --transport nccl" + record());

  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.output, SaysOnce("give --device cuda with it"));
}

// The CUDA module would add about 250 MB to every rank.
TEST_F(GpuRefusals, TheCpuPathDoesNotLoadTheCudaLibraries) {
  const Ended ended = end_of("LD_DEBUG=files " + reference + " " + run + record());

  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.output, HasSubstr("libtorch_cpu.so"));
  EXPECT_THAT(ended.output, Not(HasSubstr("libtorch_cuda.so")));
  EXPECT_THAT(ended.output, Not(HasSubstr("libnccl.so")));
  EXPECT_THAT(ended.output, Not(HasSubstr("plumbline-gpu.so")));
}

TEST_F(GpuRefusals, WarnsAboutASingleHardwareQueue) {
  const std::string warning = "warning: CUDA_DEVICE_MAX_CONNECTIONS=1 makes messages wait";
  EXPECT_THAT(end_of("CUDA_DEVICE_MAX_CONNECTIONS=1 " + pipeline + " --capabilities").output, HasSubstr(warning));
  EXPECT_THAT(end_of("CUDA_DEVICE_MAX_CONNECTIONS=8 " + pipeline + " --capabilities").output,
              Not(HasSubstr("warning")));
}

TEST_F(GpuRefusals, CapabilitiesWorkWithoutAGpu) {
  const Ended ended = end_of(pipeline + " --capabilities");

  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.output,
              AllOf(HasSubstr("\"built\": true"), HasSubstr("\"nccl\": \"2."), HasSubstr("\"nccl_library\": \"/")));
}

}  // namespace
}  // namespace plumbline
