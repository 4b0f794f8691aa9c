// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/process_tree.hpp"

#include <sys/prctl.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "support/error.hpp"
#include "tests/harness/launch/child_process.hpp"
#include "tests/harness/launch/open_files.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using namespace std::chrono_literals;

std::vector<pid_t> pids_of(const std::vector<ProcessState>& processes) {
  std::vector<pid_t> pids;
  for (const auto& process : processes) pids.push_back(process.pid);
  return pids;
}

TEST(ProcessStateOf, ReadsParentAndStateForAnyProcessName) {
  const ChildProcess child([] { ::prctl(PR_SET_NAME, "a) R 1 (b", 0, 0, 0); });

  child.stop();
  const auto state = process_state(child.pid());
  ASSERT_TRUE(state);
  EXPECT_EQ(state->pid, child.pid());
  EXPECT_EQ(state->parent, ::getpid());
  EXPECT_EQ(state->state, 'T');
  EXPECT_TRUE(state->alive());
  child.die();
  EXPECT_FALSE(process_state(child.pid()).value().alive());
}

TEST(ProcessStateOf, IsAbsentForAReapedProcess) {
  pid_t pid = 0;
  {
    const ChildProcess child;
    pid = child.pid();
  }
  EXPECT_FALSE(process_state(pid));
  EXPECT_FALSE(voluntary_switches(pid));
}

TEST(VoluntarySwitches, CountTheMainThreadsWhileItLives) {
  const auto before = voluntary_switches(::getpid()).value();
  for (int sleep = 0; sleep < 3; ++sleep) std::this_thread::sleep_for(1ms);
  EXPECT_GE(voluntary_switches(::getpid()).value(), before + 3);
  const ChildProcess child;
  EXPECT_TRUE(voluntary_switches(child.pid()));
  child.die();
  EXPECT_FALSE(voluntary_switches(child.pid())) << "a zombie has none";
}

TEST(ProcessTreeOf, ContainsLaterChildrenAndTheirDescendants) {
  const ChildProcess before;
  ProcessTree tree;
  int below[2] = {-1, -1};
  ASSERT_EQ(::pipe(below), 0);
  pid_t grandchild = 0;
  {
    const ChildProcess child([&] {
      const pid_t pid = ::fork();
      if (pid == 0)
        while (true) ::pause();
      [[maybe_unused]] const auto written = ::write(below[1], &pid, sizeof pid);
    });
    ASSERT_EQ(::read(below[0], &grandchild, sizeof grandchild), static_cast<ssize_t>(sizeof grandchild));
    tree.begins_with(child.pid());

    EXPECT_THAT(pids_of(tree.living()), ElementsAre(child.pid(), grandchild));
    EXPECT_TRUE(tree.contains(child.pid()));
    EXPECT_TRUE(tree.contains(grandchild));
    EXPECT_FALSE(tree.contains(before.pid()));
    EXPECT_FALSE(tree.contains(::getpid()));
    EXPECT_FALSE(tree.contains(1));

    tree.kill_all_but(child.pid());
    ASSERT_TRUE(ends_soon(grandchild));
    EXPECT_TRUE(process_state(child.pid()).value().alive());
    EXPECT_THAT(pids_of(tree.living()), ElementsAre(child.pid())) << "the other process is a zombie";
  }
  EXPECT_TRUE(process_state(before.pid()));
  tree.reap(0);
  EXPECT_FALSE(process_state(grandchild)) << "it became our child when its parent ended";
  ::close(below[0]);
  ::close(below[1]);
}

TEST(ProcessTreeOf, TwoTreesAreSeparate) {
  ProcessTree one;
  const ChildProcess of_one;
  one.begins_with(of_one.pid());
  ProcessTree other;
  const ChildProcess of_other;
  other.begins_with(of_other.pid());

  EXPECT_THAT(pids_of(one.living()), ElementsAre(of_one.pid()));
  EXPECT_THAT(pids_of(other.living()), ElementsAre(of_other.pid()));
  EXPECT_FALSE(one.contains(of_other.pid()));
  EXPECT_FALSE(other.contains(of_one.pid()));
  EXPECT_NE(one.mark(), other.mark());
}

/// Starts `sleep` with this environment as a grandchild, and returns it once it runs; its parent then ends.
pid_t orphan_of(ProcessTree& tree, const std::string& variable, bool seen_before) {
  int pipe_ends[2] = {-1, -1};
  if (::pipe(pipe_ends) != 0) return -1;
  pid_t orphan = -1;
  {
    const ChildProcess parent([&] {
      const pid_t pid = ::fork();
      if (pid == 0) {
        std::string name = "sleep", seconds = "600", other = "FIRST=1", entry = variable;
        char* arguments[] = {name.data(), seconds.data(), nullptr};
        char* environment[] = {other.data(), entry.data(), nullptr};  // a launch puts its mark last
        ::execve("/bin/sleep", arguments, environment);
        ::_exit(127);
      }
      [[maybe_unused]] const auto written = ::write(pipe_ends[1], &pid, sizeof pid);
    });
    tree.begins_with(parent.pid());
    if (::read(pipe_ends[0], &orphan, sizeof orphan) != static_cast<ssize_t>(sizeof orphan)) return -1;
    while (bytes_of("/proc/" + std::to_string(orphan) + "/cmdline").rfind("sleep", 0) != 0) continue;
    if (seen_before) tree.living();
  }
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  return orphan;
}

TEST(ProcessTreeOf, AnOrphanBelongsToTheTreeThatSawItOrMarkedIt) {
  for (const bool seen : {false, true}) {
    ProcessTree one, other;
    const pid_t orphan = orphan_of(one, seen ? "NO=mark" : one.mark(), seen);
    ASSERT_EQ(process_state(orphan).value().parent, ::getpid());

    EXPECT_THAT(other.living(), IsEmpty());
    EXPECT_FALSE(other.contains(orphan));
    EXPECT_THAT(pids_of(one.living()), ElementsAre(orphan));
    EXPECT_TRUE(one.contains(orphan));
    ::kill(orphan, SIGKILL);
    ::waitpid(orphan, nullptr, 0);
  }
}

TEST(ProcessTreeOf, LeavesNoFileOpen) {
  const ProcessTree tree;
  const auto before = open_files();
  tree.living();
  EXPECT_EQ(open_files(), before);
}

TEST(ProcessTreeOf, ReapsDeadProcessesExceptTheGivenOne) {
  ProcessTree tree;
  const ChildProcess wanted, dead, living;
  wanted.die();
  dead.die();

  tree.reap(wanted.pid());

  EXPECT_TRUE(process_state(wanted.pid()));
  EXPECT_FALSE(process_state(dead.pid()));
  EXPECT_TRUE(process_state(living.pid()));
}

TEST(ProcessTreeOf, TerminatesTheRootAndLeavesItsStatusToTheCaller) {
  ProcessTree tree;
  const ChildProcess root;
  tree.begins_with(root.pid());
  const auto begin = std::chrono::steady_clock::now();

  EXPECT_THAT(tree.end(10s, root.pid()), IsEmpty());

  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s) << "it waits only if necessary";
  int status = 0;
  ASSERT_EQ(::waitpid(root.pid(), &status, WNOHANG), root.pid());
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

TEST(ProcessTreeOf, KillsAProcessThatIgnoresSigterm) {
  ProcessTree tree;
  const ChildProcess stubborn([] { ::signal(SIGTERM, SIG_IGN); });

  EXPECT_THAT(tree.end(20ms, 0), IsEmpty());

  EXPECT_FALSE(process_state(stubborn.pid()));
}

/// A process whose first thread has ended while another runs; /proc shows it as a zombie. Ended at scope's end.
class WithoutItsFirstThread {
 public:
  WithoutItsFirstThread() {
    int ready[2] = {-1, -1};
    if (::pipe(ready) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      std::thread([&] {
        const std::string task = "/proc/" + std::to_string(::getpid()) + "/stat";
        while (bytes_of(task).find(") Z ") == std::string::npos) continue;
        [[maybe_unused]] const auto written = ::write(ready[1], "x", 1);
        while (true) ::pause();
      }).detach();
      ::syscall(SYS_exit, 0);
    }
    char byte = 0;
    [[maybe_unused]] const auto got = ::read(ready[0], &byte, 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~WithoutItsFirstThread() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  WithoutItsFirstThread(const WithoutItsFirstThread&) = delete;
  WithoutItsFirstThread& operator=(const WithoutItsFirstThread&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

// Otherwise it would continue after the run.
TEST(ProcessTreeOf, KillsAProcessWhoseFirstThreadHasEnded) {
  ProcessTree tree;
  const WithoutItsFirstThread process;

  EXPECT_THAT(tree.end(20ms, 0), IsEmpty());

  EXPECT_FALSE(process_state(process.pid()));
}

// Otherwise a later wait for its status would never return.
TEST(ProcessTreeOf, KillsARootWhoseFirstThreadHasEnded) {
  ProcessTree tree;
  const WithoutItsFirstThread root;
  tree.begins_with(root.pid());

  EXPECT_THAT(tree.end(20ms, root.pid()), IsEmpty());

  int status = 0;
  ASSERT_EQ(::waitpid(root.pid(), &status, WNOHANG), root.pid()) << "its other threads still run";
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

// A process that cannot be inspected has not ended, and a tree that cannot be inspected is not empty.
TEST(ProcessTreeOf, NoProcessCountsAsEndedIfNoFileCanBeOpened) {
  ProcessTree tree;
  const ChildProcess child;
  tree.begins_with(child.pid());
  const auto expect_blind = [](const auto& look) {
    EXPECT_THAT(error_of<SystemError>(look), StartsWith("/proc cannot be read: Too many open files"));
  };
  {
    const NoMoreFiles full;
    expect_blind([&] { process_state(child.pid()); });
    expect_blind([&] { voluntary_switches(child.pid()); });
    expect_blind([&] { tree.living(); });
    expect_blind([&] { tree.contains(child.pid()); });
    expect_blind([&] { tree.end(20ms, child.pid()); });
    expect_blind([] { ProcessTree(); });
  }
  EXPECT_THAT(pids_of(tree.living()), ElementsAre(child.pid()));
}

TEST(ProcessTreeOf, EndsAndReapsAbandonedProcessesAtOnce) {
  ProcessTree tree;
  int below[2] = {-1, -1};
  ASSERT_EQ(::pipe(below), 0);
  const ChildProcess root([&] {
    ::signal(SIGTERM, SIG_IGN);
    const pid_t pid = ::fork();
    if (pid == 0)
      while (true) ::pause();
    [[maybe_unused]] const auto written = ::write(below[1], &pid, sizeof pid);
  });
  pid_t grandchild = 0;
  ASSERT_EQ(::read(below[0], &grandchild, sizeof grandchild), static_cast<ssize_t>(sizeof grandchild));
  tree.begins_with(root.pid());

  tree.abandon();

  EXPECT_FALSE(process_state(root.pid()));
  EXPECT_FALSE(process_state(grandchild));
  ::close(below[0]);
  ::close(below[1]);
}

TEST(ProcessTreeOf, EndsAnAbandonedProcessOnceItCanBeInspectedAgain) {
  ProcessTree tree;
  const ChildProcess root;
  tree.begins_with(root.pid());
  auto full = std::make_unique<NoMoreFiles>();
  std::thread later([&] {
    std::this_thread::sleep_for(50ms);
    full.reset();
  });

  tree.abandon();

  later.join();
  EXPECT_FALSE(process_state(root.pid()));
}

/// Which processes got SIGTERM: one letter for each.
class SigtermReceivers {
 public:
  SigtermReceivers() { EXPECT_EQ(::pipe2(ends_, O_NONBLOCK), 0); }
  ~SigtermReceivers() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  SigtermReceivers(const SigtermReceivers&) = delete;
  SigtermReceivers& operator=(const SigtermReceivers&) = delete;
  /// Call in a process of the test, which then continues, or ends this many microseconds later. Other signals wait,
  /// since several may be pending on a busy machine.
  void listen(char letter, useconds_t ends_after = 0) const {
    pipe_ = ends_[1];
    letter_ = letter;
    ends_after_ = ends_after;
    struct sigaction action {};
    action.sa_handler = [](int) {
      [[maybe_unused]] const auto written = ::write(pipe_, &letter_, 1);
      ::ualarm(ends_after_, 0);
    };
    ::sigfillset(&action.sa_mask);
    ::sigaction(SIGTERM, &action, nullptr);
  }
  std::multiset<char> letters() const {
    std::multiset<char> found;
    for (char letter = 0; ::read(ends_[0], &letter, 1) == 1;) found.insert(letter);
    return found;
  }

 private:
  static inline int pipe_ = -1;
  static inline char letter_ = '?';
  static inline useconds_t ends_after_ = 0;
  int ends_[2] = {-1, -1};
};

// As a launcher, it ends its ranks itself, and only it knows how they ended.
TEST(ProcessTreeOf, SendsSigtermOnceAndOnlyToTheRoot) {
  const SigtermReceivers receivers;
  ProcessTree tree;
  const ChildProcess root([&] {
    ::signal(SIGCHLD, [](int) { ::_exit(7); });
    receivers.listen('r');
    if (::fork() == 0) {
      receivers.listen('b');
      while (true) ::pause();
    }
  });
  tree.begins_with(root.pid());

  EXPECT_THAT(tree.end(50ms, root.pid()), IsEmpty());

  EXPECT_THAT(receivers.letters(), ElementsAre('r'));
  int status = 0;
  ASSERT_EQ(::waitpid(root.pid(), &status, WNOHANG), root.pid());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

TEST(ProcessTreeOf, WithoutARootSendsSigtermOnceToEachProcess) {
  const SigtermReceivers receivers;
  ProcessTree tree;
  const ChildProcess one([&] { receivers.listen('1', 100'000); }), two([&] { receivers.listen('2', 100'000); });

  EXPECT_THAT(tree.end(60s, 0), IsEmpty()) << "each ends 0.1 s after SIGTERM";

  EXPECT_THAT(receivers.letters(), ElementsAre('1', '2'));
  EXPECT_FALSE(process_state(one.pid()));
  EXPECT_FALSE(process_state(two.pid()));
}

/// The number of processes of `program` that are counted while `command` runs.
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

TEST(StartedProcesses, CountTheProgramButNotItsForks) {
  const TemporaryFolder folder;
  const auto program = folder.file("trainer", "#!/bin/sh\n( sleep 0.3; true ) &\nwait\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);

  EXPECT_EQ(count_of(program.string(), program.string()), 1);
  EXPECT_EQ(count_of(program.string(), program.string() + " & " + program.string() + "; wait"), 2);
  EXPECT_EQ(count_of(program.string() + "-of-another-name", program.string()), 0);
}

TEST(StartedProcesses, DoNotCountWhatARankStartsThroughOthers) {
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

TEST(StartedProcesses, AreRecognizedByTheirFirstWord) {
  const TemporaryFolder folder;
  const auto program = folder / "trainer";
  std::filesystem::copy_file("/bin/sleep", program);

  EXPECT_EQ(count_of(program.string(), program.string() + " 0.1"), 1);
}

}  // namespace
}  // namespace plumbline::testing
