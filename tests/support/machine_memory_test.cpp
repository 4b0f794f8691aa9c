// SPDX-License-Identifier: BSD-3-Clause
#include "support/machine_memory.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using testing::error_of;
using ::testing::MatchesRegex;

constexpr std::int64_t beyond = std::numeric_limits<std::int64_t>::max();

TEST(MachineMemory, IsPlausible) {
  EXPECT_GT(memory_limit(), std::int64_t{1} << 27);
  EXPECT_LT(memory_limit(), std::int64_t{1} << 50);
}

TEST(MachineMemory, RefusesMoreMemoryThanThereIsAndNamesBothSizes) {
  EXPECT_NO_THROW(require_memory(memory_limit(), "a step"));
  EXPECT_THAT(error_of<SystemError>([] { require_memory(std::int64_t{1} << 60, "a step"); }),
              MatchesRegex("a step needs 1\\.00 EiB of memory, this machine has [0-9.]+ .iB; ask for less, .*"));
}

TEST(MachineMemory, SumsAndProductsOfSizesDoNotWrap) {
  EXPECT_EQ(sum_of_sizes({}), 0);
  EXPECT_EQ(sum_of_sizes({1, 2, 3}), 6);
  EXPECT_EQ(sum_of_sizes({beyond - 1, 1}), beyond);
  EXPECT_EQ(sum_of_sizes({beyond, 1}), beyond);
  EXPECT_EQ(sum_of_sizes({1, beyond, beyond}), beyond);
  EXPECT_EQ(product_of_sizes({}), 1);
  EXPECT_EQ(product_of_sizes({2, 3, 4}), 24);
  EXPECT_EQ(product_of_sizes({std::int64_t{1} << 32, std::int64_t{1} << 32}), beyond);
  EXPECT_EQ(product_of_sizes({std::int64_t{1} << 62, 2}), beyond) << "one bit more than there is";
  EXPECT_EQ(product_of_sizes({beyond, beyond, 0}), 0) << "nothing, however often";
}

TEST(MachineMemory, BytesHaveThreeDigits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text(1024 * 1024 * 25), "25.0 MiB");
  EXPECT_EQ(bytes_text(beyond), "8.00 EiB");
}

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

/// System files with a test's content.
class FreeMemory : public ::testing::Test {
 protected:
  void available(std::int64_t bytes) {
    root_.file("proc/meminfo", "MemTotal:       24682416 kB\nMemFree:         1024 kB\nMemAvailable:   " +
                                   std::to_string(bytes / 1024) + " kB\n");
  }
  void group(const std::string& name, const std::string& limit, std::int64_t taken, std::int64_t cache) {
    root_.file("sys/fs/cgroup" + name + "/memory.max", limit + "\n");
    root_.file("sys/fs/cgroup" + name + "/memory.current", std::to_string(taken) + "\n");
    root_.file("sys/fs/cgroup" + name + "/memory.stat",
               "anon 1\ninactive_file " + std::to_string(cache) + "\nactive_file 5\n");
  }
  std::int64_t found() const { return free_memory(root_.path()); }

  testing::TemporaryFolder root_;
};

TEST_F(FreeMemory, IsTheSmallerOfAvailableMemoryAndTheControlGroupsRest) {
  available(64 * mebibyte);
  EXPECT_EQ(found(), 64 * mebibyte);
  root_.file("proc/self/cgroup", "0::/jobs/mine\n");
  group("/jobs/mine", std::to_string(32 * mebibyte), 20 * mebibyte, 4 * mebibyte);
  EXPECT_EQ(found(), 16 * mebibyte);
}

TEST_F(FreeMemory, CountsParentGroups) {
  available(64 * mebibyte);
  root_.file("proc/self/cgroup", "0::/jobs/mine\n");
  group("/jobs/mine", "max", 20 * mebibyte, 0);
  group("/jobs", std::to_string(40 * mebibyte), 39 * mebibyte, 0);
  EXPECT_EQ(found(), mebibyte);
  group("/jobs", std::to_string(40 * mebibyte), 41 * mebibyte, 0);
  EXPECT_EQ(found(), 0) << "never negative";
}

TEST_F(FreeMemory, KnowsControlGroupsOfVersion1) {
  available(64 * mebibyte);
  root_.file("proc/self/cgroup", "5:devices:/x\n4:cpu,memory:/x\n0::/\n");
  root_.file("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(10 * mebibyte) + "\n");
  root_.file("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(4 * mebibyte) + "\n");
  EXPECT_EQ(found(), 6 * mebibyte) << "a container sees only the root of its group";
}

TEST_F(FreeMemory, IsAtMostTheMachinesMemory) {
  EXPECT_EQ(found(), memory_limit());
  EXPECT_LE(free_memory(), memory_limit());
  EXPECT_GT(free_memory(), 0);
}

}  // namespace
}  // namespace plumbline
