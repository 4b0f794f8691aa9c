// SPDX-License-Identifier: BSD-3-Clause
// Obstacles to using GPUs, on fake machines; each message says what to do.
#include "training/gpu/gpu_check.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "tests/environment_variable.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/training/gpu/fake_gpus.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string refusal(GpuSupport& gpus) {
  try {
    check_driver(gpus);
  } catch (const SystemError& error) {
    return error.what();
  }
  return "";
}

std::string refusal(const GpuVersions& versions, const std::vector<std::string>& libraries) {
  try {
    check_nccl_library(versions, libraries);
  } catch (const SystemError& error) {
    return error.what();
  }
  return "";
}

TEST(GpuCheck, AcceptsADriverAndAGpu) {
  testing::FakeGpus gpus;

  EXPECT_EQ(refusal(gpus), "");
  EXPECT_EQ(refusal(gpus.versions(), {"/site/libnccl.so.2"}), "");
}

TEST(GpuCheck, DistinguishesNoDriverFromAnOldOne) {
  testing::FakeGpus gpus;
  gpus.devices.clear();
  gpus.reason = "CUDA driver version is insufficient for CUDA runtime version";

  gpus.installed.driver = 0;
  EXPECT_THAT(refusal(gpus), AllOf(HasSubstr("there is no NVIDIA driver"), HasSubstr("insufficient"),
                                   HasSubstr("driver 580 or newer")));
  gpus.installed.driver = 12040;
  EXPECT_THAT(refusal(gpus), AllOf(HasSubstr("runs CUDA up to 12.4"), HasSubstr("CUDA 13.0 or newer")));
}

TEST(GpuCheck, NamesTheDriverOfTheRuntimesMajorVersion) {
  testing::FakeGpus gpus;
  gpus.installed.runtime = 12080;
  gpus.installed.driver = 11080;
  EXPECT_THAT(refusal(gpus), HasSubstr("needs a driver for CUDA 12.0 or newer (driver 525 or newer);"));
  gpus.installed.runtime = 14000;
  EXPECT_THAT(refusal(gpus), HasSubstr("needs a driver for CUDA 14.0 or newer;"));
  gpus.installed = {12020, 12080, 22809, 22809};
  EXPECT_EQ(refusal(gpus), "");
}

// Within a major version a driver supports newer runtimes.
TEST(GpuCheck, AcceptsADriverOfTheSameMajorVersion) {
  testing::FakeGpus gpus;
  gpus.installed.runtime = 13020;

  EXPECT_EQ(refusal(gpus), "");
}

TEST(GpuCheck, NamesTheVariableThatHidesGpus) {
  testing::FakeGpus gpus;
  gpus.devices.clear();
  gpus.reason = "no CUDA-capable device is detected";

  EXPECT_THAT(refusal(gpus), AllOf(HasSubstr("sees no GPU"), HasSubstr("no CUDA-capable device is detected"),
                                   HasSubstr("CUDA_VISIBLE_DEVICES")));
}

TEST(GpuCheck, SaysWhyTheVariableShowsNoGpu) {
  testing::FakeGpus gpus;
  gpus.devices.clear();
  const auto refusal_of = [&](const char* value) {
    const testing::EnvironmentVariable variable("CUDA_VISIBLE_DEVICES", value);
    return testing::error_of<InputError>([&] { check_driver(gpus); });
  };
  EXPECT_THAT(refusal_of(""), HasSubstr("CUDA_VISIBLE_DEVICES is \"\" and names no GPU"));
  EXPECT_THAT(refusal_of("0,0"), HasSubstr("CUDA_VISIBLE_DEVICES is \"0,0\": it names GPU 0 twice"));
  EXPECT_THAT(refusal_of("MIG-1,0"), HasSubstr("name one slice"));
}

TEST(GpuCheck, NamesBothNcclLibraries) {
  const GpuVersions versions{13000, 13000, 22809, 22809};

  EXPECT_THAT(refusal(versions, {"/a/libnccl.so.2", "/b/libnccl.so.2"}),
              AllOf(HasSubstr("2 different libnccl"), HasSubstr("/a/libnccl.so.2, /b/libnccl.so.2")));
  EXPECT_THAT(refusal(versions, {}), HasSubstr("no libnccl is loaded"));
}

TEST(GpuCheck, RefusesAnNcclWithoutTheUsedFunctionsOnly) {
  EXPECT_THAT(refusal({13000, 13000, 21605, 23007}, {"/old/libnccl.so.2"}),
              AllOf(HasSubstr("NCCL 2.16.5 is loaded (/old/libnccl.so.2)"), HasSubstr("needs 2.17.0 or newer")));
  EXPECT_EQ(refusal({13000, 13000, 22809, 23007}, {"/older/libnccl.so.2"}), "");
  EXPECT_EQ(refusal({13000, 13000, 23202, 23007}, {"/newer/libnccl.so.2"}), "");
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
