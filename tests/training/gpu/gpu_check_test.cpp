// SPDX-License-Identifier: BSD-3-Clause
// Obstacles to using GPUs, on fake machines; each message says what to do.
#include "training/gpu/gpu_check.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "support/error.hpp"
#include "tests/approved.hpp"
#include "tests/environment_variable.hpp"
#include "tests/training/gpu/fake_gpus.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Lines KEY VALUE of a machine that differs from one with a GPU and the versions that the build needs. `visible` is
// CUDA_VISIBLE_DEVICES, `library` a loaded libnccl.
TEST(GpuCheck, AcceptsAndRefusesMachines) {
  testing::expect_answers("gpu-machines.txt", [](const std::string& input) {
    testing::FakeGpus gpus;
    std::optional<std::string> visible;
    std::vector<std::string> libraries;
    std::istringstream lines(input);
    for (std::string line; std::getline(lines, line);) {
      const std::string key = line.substr(0, line.find(' ')),
                        value = line.substr(std::min(line.size(), key.size() + 1));
      if (key == "driver") gpus.installed.driver = std::stoi(value);
      if (key == "runtime") gpus.installed.runtime = std::stoi(value);
      if (key == "nccl") gpus.installed.nccl = std::stoi(value);
      if (key == "built-with-nccl") gpus.installed.nccl_built_with = std::stoi(value);
      if (key == "no-gpu") gpus.devices.clear(), gpus.reason = value;
      if (key == "visible") visible = value;
      if (key == "library") libraries.push_back(value);
    }
    const testing::EnvironmentVariable variable("CUDA_VISIBLE_DEVICES", visible ? visible->c_str() : nullptr);
    try {
      check_driver(gpus);
      check_nccl_library(gpus.versions(), libraries);
      return std::string("accepted");
    } catch (const Error& error) {
      return (error.code() == ExitCode::bad_input ? "bad input: " : "") + std::string(error.what());
    }
  });
}

TEST(LoadedLibraries, FindsEachFileOnceByPrefix) {
  EXPECT_THAT(loaded_libraries("libtorch_cpu.so"), SizeIs(1));
  EXPECT_THAT(loaded_libraries("libtorch_"), ::testing::Not(IsEmpty()));
  EXPECT_THAT(loaded_libraries("libno_such_thing"), IsEmpty());
}

// The real machine. Without the CUDA module the message says how to build it; with it, the answer is the real
// libraries'.
TEST(GpuCheck, CapabilitiesGiveTheReason) {
  const Json found = gpu_capabilities();

  ASSERT_EQ(found.at("built").get<bool>(), has_gpu_module());
  if (!has_gpu_module()) {
    try {
      open_gpus();
      FAIL() << "a CPU build opened GPUs";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("make cuda"));
    }
  } else {
    EXPECT_EQ(found.at("usable").get<bool>(), found.at("why_not").is_null());
    EXPECT_EQ(found.at("usable").get<bool>(), !found.at("devices").empty());
  }
}

}  // namespace
}  // namespace plumbline
