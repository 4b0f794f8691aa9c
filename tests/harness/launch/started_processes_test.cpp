// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "harness/launch/process_tree.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

/// Processes that are counted while `command` runs.
std::int64_t count_of(const std::string& program, const std::string& command) {
  const ProcessTree tree;
  StartedProcesses processes(program, tree);
  std::atomic<bool> ended = false;
  std::thread shell([&] {
    EXPECT_EQ(std::system(command.c_str()), 0);
    ended = true;
  });
  while (!ended) processes.glance();
  shell.join();
  return processes.count();
}

TEST(StartedProcesses, AreOfTheProgramAndNotWhatItForks) {
  const TemporaryFolder folder;
  const auto program = folder.file("trainer", "#!/bin/sh\n( sleep 0.3; true ) &\nwait\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);

  EXPECT_EQ(count_of(program.string(), program.string()), 1);
  EXPECT_EQ(count_of(program.string(), program.string() + " & " + program.string() + "; wait"), 2);
  EXPECT_EQ(count_of(program.string() + "-of-another-name", program.string()), 0);
}

TEST(StartedProcesses, AreNotWhatARankStartsThroughOthers) {
  const TemporaryFolder folder;
  const auto program = folder.file("trainer", R"(#!/bin/sh
case $1 in
  leaf) sleep 0.1;;
  *) sh -c "$0 leaf; true"; true;;
esac
)");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);

  EXPECT_EQ(count_of(program.string(), program.string()), 1);
}

TEST(StartedProcesses, AreKnownByTheirFirstWord) {
  const TemporaryFolder folder;
  const auto program = folder / "trainer";
  std::filesystem::copy_file("/bin/sleep", program);

  EXPECT_EQ(count_of(program.string(), program.string() + " 0.1"), 1);
}

}  // namespace
}  // namespace plumbline::testing
