// SPDX-License-Identifier: BSD-3-Clause
// Which GPUs a process may use: from the variable, from the existing devices, and as CTest assigned them.
#include "support/visible_gpus.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "tests/environment_variable.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

TEST(VisibleGpus, ReadsTheVariableUpToTheFirstInvalidEntry) {
  const auto named = [](const char* value) {
    const EnvironmentVariable variable(visible_gpus_variable, value);
    return visible_gpus();
  };
  EXPECT_THAT(named("2,3"), Optional(ElementsAre("2", "3")));
  EXPECT_THAT(named("GPU-8932, GPU-1"), Optional(ElementsAre("GPU-8932", "GPU-1")));
  EXPECT_THAT(named("MIG-1"), Optional(ElementsAre("MIG-1")));
  EXPECT_THAT(named("1,-1,2"), Optional(ElementsAre("1")));
  EXPECT_THAT(named("0,,2"), Optional(ElementsAre("0")));
  EXPECT_THAT(named(""), Optional(IsEmpty()));
}

TEST(VisibleGpus, RefusesEntriesThatCudaWouldHide) {
  struct Case {
    const char *value, *words;
  };
  for (const auto& [value, words] :
       {Case{"0,1, 0", "it names GPU 0 twice; name each GPU once"},
        Case{"GPU-8932,GPU-8932", "it names GPU GPU-8932 twice"}, Case{"MIG-1,MIG-2", "name one slice"},
        Case{"0,MIG-GPU-8932/1/0", "names a MIG slice and others"}}) {
    const EnvironmentVariable variable(visible_gpus_variable, value);
    EXPECT_THAT(error_of<InputError>([] { visible_gpus(); }),
                AllOf(HasSubstr(std::string(visible_gpus_variable) + " is \"" + value + "\""), HasSubstr(words)));
  }
  const EnvironmentVariable variable(visible_gpus_variable, "0,-1,0");
  EXPECT_THAT(visible_gpus(), Optional(ElementsAre("0")));
}

TEST(VisibleGpus, MapsCTestsNumbersToTheVisibleGpus) {
  const auto taken = [](const char* visible, const std::vector<std::string>& groups) {
    const std::string prefix = "CTEST_RESOURCE_GROUP_", count = std::to_string(groups.size());
    const EnvironmentVariable of_cuda(visible_gpus_variable, visible);
    const EnvironmentVariable of_ctest(prefix + "COUNT", groups.empty() ? nullptr : count.c_str());
    const EnvironmentVariable first(prefix + "0_GPUS", groups.empty() ? nullptr : groups.front().c_str());
    const EnvironmentVariable second(prefix + "1_GPUS", groups.size() < 2 ? nullptr : groups[1].c_str());
    take_assigned_gpus();
    take_assigned_gpus();  // in a program that the first one started
    const char* value = std::getenv(visible_gpus_variable);
    return std::string(value == nullptr ? "all" : value);
  };
  EXPECT_EQ(taken(nullptr, {}), "all");
  EXPECT_EQ(taken("4,5", {}), "4,5");
  EXPECT_EQ(taken(nullptr, {"id:3,slots:1", "id:1,slots:1"}), "3,1");
  EXPECT_EQ(taken("4,GPU-7,6", {"id:1,slots:1;id:2,slots:1"}), "GPU-7,6");
}

TEST(VisibleGpus, CountsDevicesWithoutTheVariable) {
  const EnvironmentVariable variable(visible_gpus_variable, nullptr);
  const TemporaryFolder devices;
  EXPECT_EQ(visible_gpus(devices.path()), std::nullopt);
  for (const char* name : {"nvidia0", "nvidia7", "nvidiactl", "nvidia-uvm", "null"}) devices.file(name, "");
  EXPECT_THAT(visible_gpus(devices.path()), Optional(ElementsAre("0", "1")));
}

}  // namespace
}  // namespace plumbline::testing
