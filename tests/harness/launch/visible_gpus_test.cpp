// GPUs that a process may use, by the variable or by the devices that there are.
#include "harness/launch/visible_gpus.hpp"

#include <gmock/gmock.h>

#include "tests/harness/launch/environment_variable.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

TEST(VisibleGpus, AreThoseThatTheVariableNamesUpToTheFirstThatIsNone) {
  const auto named = [](const char* value) {
    const EnvironmentVariable variable(visible_gpus_variable, value);
    return visible_gpus();
  };
  EXPECT_THAT(named("2,3"), Optional(ElementsAre("2", "3")));
  EXPECT_THAT(named("GPU-8932, MIG-1"), Optional(ElementsAre("GPU-8932", "MIG-1")));
  EXPECT_THAT(named("1,-1,2"), Optional(ElementsAre("1")));
  EXPECT_THAT(named("0,,2"), Optional(ElementsAre("0")));
  EXPECT_THAT(named(""), Optional(IsEmpty()));
}

TEST(VisibleGpus, WithoutTheVariableAreTheDevices) {
  const EnvironmentVariable variable(visible_gpus_variable, nullptr);
  const TemporaryFolder devices;
  EXPECT_EQ(visible_gpus(devices.path()), std::nullopt);
  for (const char* name : {"nvidia0", "nvidia7", "nvidiactl", "nvidia-uvm", "null"}) devices.file(name, "");
  EXPECT_THAT(visible_gpus(devices.path()), Optional(ElementsAre("0", "1")));
}

}  // namespace
}  // namespace plumbline::testing
