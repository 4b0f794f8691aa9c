// SPDX-License-Identifier: BSD-3-Clause

#include <gtest/gtest.h>

#include "support/machine_memory.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

/// The system's files as a test wants them.
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

TEST_F(FreeMemory, IsWhatLinuxCallsAvailable) {
  available(64 * mebibyte);
  EXPECT_EQ(found(), 64 * mebibyte);
}

TEST_F(FreeMemory, IsWhatAControlGroupLeavesBesideWhatItHasTaken) {
  available(64 * mebibyte);
  root_.file("proc/self/cgroup", "0::/jobs/mine\n");
  group("/jobs/mine", std::to_string(32 * mebibyte), 20 * mebibyte, 4 * mebibyte);
  EXPECT_EQ(found(), 16 * mebibyte);
}

TEST_F(FreeMemory, CountsTheGroupsThatItsOwnLiesIn) {
  available(64 * mebibyte);
  root_.file("proc/self/cgroup", "0::/jobs/mine\n");
  group("/jobs/mine", "max", 20 * mebibyte, 0);
  group("/jobs", std::to_string(40 * mebibyte), 39 * mebibyte, 0);
  EXPECT_EQ(found(), mebibyte);
  group("/jobs", std::to_string(40 * mebibyte), 41 * mebibyte, 0);
  EXPECT_EQ(found(), 0) << "no less than nothing";
}

TEST_F(FreeMemory, KnowsControlGroupsOfVersion1) {
  available(64 * mebibyte);
  root_.file("proc/self/cgroup", "5:devices:/x\n4:cpu,memory:/x\n0::/\n");
  root_.file("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(10 * mebibyte) + "\n");
  root_.file("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(4 * mebibyte) + "\n");
  EXPECT_EQ(found(), 6 * mebibyte) << "the group itself is not seen from within a container, its root is";
}

TEST_F(FreeMemory, IsNoMoreThanTheMachineHasWhereNothingSaysMore) {
  EXPECT_EQ(found(), memory_limit());
  EXPECT_LE(free_memory(), memory_limit());
  EXPECT_GT(free_memory(), 0);
}

}  // namespace
}  // namespace plumbline
