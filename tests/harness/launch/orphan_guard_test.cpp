// SPDX-License-Identifier: BSD-3-Clause
// Launches whose own process is killed.
#include "harness/launch/orphan_guard.hpp"

#include <set>
#include <thread>

#include "harness/launch/process_tree.hpp"
#include "support/numbers.hpp"
#include "tests/harness/launch/child_process.hpp"
#include "tests/harness/launch/launch_test.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

/// The guards that watch over a process.
std::vector<pid_t> guards_of(pid_t pid) {
  std::vector<pid_t> guards;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto number = parse_integer(entry.path().filename().string());
    const auto process = number ? process_state(static_cast<pid_t>(*number)) : std::nullopt;
    if (process && process->parent == pid && bytes_of(entry.path() / "comm") == "orphan-guard\n")
      guards.push_back(process->pid);
  }
  return guards;
}

/// Waits until the guard has named itself; 0 if it does not.
pid_t guard_of(pid_t pid) {
  for (int looks = 0; looks < 1000; ++looks) {
    if (const auto guards = guards_of(pid); !guards.empty()) return guards.front();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return 0;
}

class OrphanGuard : public LaunchTest {
 protected:
  OrphanGuard() {
    guard_against_orphans();
    own_ = guard_of(getpid());
  }
  void TearDown() override {
    for (const pid_t pid : guards_of(getpid())) {
      if (pid == own_) continue;
      EXPECT_TRUE(ends_soon(pid));
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }
  /// Launches a program that writes process ids to "pids", and then kills the launching process.
  void is_killed_while_running(const std::string& body) {
    const ProcessTree tree;  // from now on orphans become children of this process
    const pid_t plumbline = fork();
    if (plumbline == 0) {
      at_glance_ = [&] {
        if (fs::exists(in("pids"))) kill(getpid(), SIGKILL);
      };
      run(body + "\nmv " + in("pids.new") + " " + in("pids") + "; wait", 0);
      _exit(1);
    }
    waitpid(plumbline, nullptr, 0);
    std::ifstream written(in("pids"));
    for (pid_t pid = 0; written >> pid;) pids_.push_back(pid);
  }

  pid_t own_ = 0;  ///< the guard of the test process, which may run all tests; a fork has a copy of it
  std::vector<pid_t> pids_;
};

TEST_F(OrphanGuard, EndsOnlyWhatAKilledProcessLaunched) {
  is_killed_while_running("trap '' TERM; sleep 600 & setsid sleep 600 & echo $$ $(jobs -p) > " + in("pids.new") +
                          "\nLAUNCHED_BY_PLUMBLINE=" + std::to_string(getpid()) + "-1 setsid sleep 600 & echo $! >> " +
                          in("pids.new"));

  ASSERT_THAT(pids_, SizeIs(4));
  const pid_t another = pids_.back();
  pids_.pop_back();
  for (const pid_t pid : pids_) {
    EXPECT_TRUE(ends_soon(pid));
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  const auto state = process_state(another);
  EXPECT_TRUE(state && state->alive()) << "another process launched it";
  kill(another, SIGKILL);
  waitpid(another, nullptr, 0);
}

TEST_F(OrphanGuard, LetsATerminatedProcessFinish) {
  is_killed_while_running("trap 'sleep 0.5; echo saved > " + in("saved") + "; exit 0' TERM; sleep 600 & echo $$ $! > " +
                          in("pids.new"));

  ASSERT_THAT(pids_, SizeIs(2));
  for (const pid_t pid : pids_) EXPECT_TRUE(ends_soon(pid));
  EXPECT_TRUE(fs::exists(in("saved")));
}

TEST_F(OrphanGuard, OneGuardServesAllLaunchesAndKeepsNoFileOpen) {
  run("exit 0", 0);
  run("exit 0", 0);

  EXPECT_THAT(guards_of(getpid()), ElementsAre(own_));
  std::set<std::string> open;
  for (const auto& file : fs::directory_iterator("/proc/" + std::to_string(own_) + "/fd")) {
    const std::string what = fs::read_symlink(file.path()).string();
    open.insert(file.path().filename().string() + " " + what.substr(0, what.find(':')));
  }
  EXPECT_THAT(open, ElementsAre("0 pipe", "1 /dev/null", "2 /dev/null"));
}

TEST_F(OrphanGuard, EndsWithItsProcessButNotWithACopyOfIt) {
  const pid_t process = fork();
  if (process == 0) {
    run("exit 0", 0);
    const pid_t guard = guard_of(getpid());
    const pid_t copy = fork();
    if (copy == 0) std::exit(0);
    waitpid(copy, nullptr, 0);
    const auto state = process_state(guard);
    std::ofstream(in("pids")) << guard << (state && state->alive() ? " lives" : " is gone");
    std::exit(0);
  }
  waitpid(process, nullptr, 0);

  pid_t guard = 0;
  std::string then;
  std::ifstream written(in("pids"));
  written >> guard;
  std::getline(written, then);
  EXPECT_GT(guard, 0);
  EXPECT_EQ(then, " lives");
  EXPECT_FALSE(process_state(guard));
}

}  // namespace
}  // namespace plumbline::testing
