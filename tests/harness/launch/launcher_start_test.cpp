// SPDX-License-Identifier: BSD-3-Clause
// The environment of a launched command, and how a launch affects the caller.
#include <thread>

#include "harness/launch/orphan_guard.hpp"
#include "harness/launch/process_tree.hpp"
#include "support/error.hpp"
#include "tests/environment_variable.hpp"
#include "tests/harness/launch/child_process.hpp"
#include "tests/harness/launch/launch_test.hpp"
#include "tests/harness/launch/open_files.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::MatchesRegex;

class LaunchedCommand : public LaunchTest {};

TEST_F(LaunchedCommand, HasTheUsersVariablesUnlessTheLaunchReplacesThem) {
  const EnvironmentVariable user("SET_BY_USER", "a=b"), both("SET_BY_BOTH", "user"), threads("OMP_NUM_THREADS", "7");
  given_.environment = {{"SET_BY_BOTH", "launch"}};

  run("echo $SET_BY_USER $SET_BY_BOTH $OMP_NUM_THREADS", 0);

  EXPECT_EQ(output(), "a=b launch 1\n");
}

// The mark identifies a process that has lost its parent, even if a launch started plumbline itself.
TEST_F(LaunchedCommand, HasOnlyTheMarkOfItsOwnLaunch) {
  const EnvironmentVariable outer("LAUNCHED_BY_PLUMBLINE", "1-1");

  run("tr '\\0' '\\n' < /proc/$$/environ | grep ^LAUNCHED_BY_PLUMBLINE", 0);

  EXPECT_THAT(output(), MatchesRegex("LAUNCHED_BY_PLUMBLINE=" + std::to_string(getpid()) + "-[0-9]+\n"));
}

// The terminal's Ctrl-C goes to plumbline, which then ends the command as it ends a launch.
TEST_F(LaunchedCommand, LeadsItsOwnSession) {
  run("read -r -a stat < /proc/$$/stat; echo $$ ${stat[5]}", 0);

  std::istringstream words(output());
  pid_t process = 0, session = -1;
  words >> process >> session;
  EXPECT_EQ(session, process);
}

TEST_F(LaunchedCommand, DoesNotReadPlumblinesInput) {
  int given[2] = {-1, -1};
  ASSERT_EQ(pipe(given), 0);
  ASSERT_EQ(write(given[1], "words", 5), 5);
  close(given[1]);
  const int before = dup(STDIN_FILENO);
  dup2(given[0], STDIN_FILENO);
  close(given[0]);

  run("cat", 0);

  dup2(before, STDIN_FILENO);
  close(before);
  EXPECT_EQ(output(), "");
}

// plumbline itself blocks the stop signals while it watches.
TEST_F(LaunchedCommand, BlocksNoSignal) {
  run_command({"grep", "SigBlk", "/proc/self/status"}, 0);

  EXPECT_EQ(output(), "SigBlk:\t0000000000000000\n");
}

// plumbline itself ignores the signal.
TEST_F(LaunchedCommand, DoesNotIgnoreTheFileSizeSignal) {
  const auto before = signal(SIGXFSZ, SIG_IGN);
  run_command({"grep", "SigIgn", "/proc/self/status"}, 0);
  signal(SIGXFSZ, before);

  const auto ignored = std::stoull(output().substr(output().find(':') + 1), nullptr, 16);
  EXPECT_EQ(ignored & (1ULL << (SIGXFSZ - 1)), 0U) << output();
}

TEST_F(LaunchedCommand, RunsInTheRequestedFolder) {
  given_.working_folder = folder_ / "here";
  fs::create_directory(given_.working_folder);
  run("pwd -P", 0);
  EXPECT_EQ(output(), fs::canonical(given_.working_folder).string() + "\n");

  fs::remove(given_.working_folder);
  EXPECT_THAT(error_of<SystemError>([&] { run("exit 0", 0); }), HasSubstr("cannot start (No such file"));
}

TEST_F(LaunchedCommand, LeavesNoFileOpenAndNoProcessUnreaped) {
  while (waitpid(-1, nullptr, WNOHANG) > 0) continue;  // children of other tests
  const auto broken = folder_.file("broken", "#!/no/such/interpreter\n");
  fs::permissions(broken, fs::perms::owner_all);
  guard_against_orphans();  // one guard for all launches
  const auto before = open_files();

  run("exit 0", 0);
  EXPECT_EQ(open_files(), before);
  EXPECT_THAT(error_of<SystemError>([&] { run_command({broken.string()}, 0); }), HasSubstr("broken: cannot start"));
  EXPECT_EQ(open_files(), before);

  pid_t left = 0;  // it may be about to end
  for (int looks = 0; looks < 100 && left == 0; ++looks) {
    left = waitpid(-1, nullptr, WNOHANG);
    if (left == 0) std::this_thread::sleep_for(10ms);
  }
  EXPECT_LE(left, 0) << "an ended child was not reaped";
}

TEST_F(LaunchedCommand, GetsSigtermWhenPlumblineIsKilled) {
  const ProcessTree tree;  // orphans become children of this process
  const pid_t plumbline = fork();
  if (plumbline == 0) {
    at_glance_ = [&] {
      if (fs::exists(in("pid"))) kill(getpid(), SIGKILL);
    };
    run("echo $TMPDIR > " + in("scratch") + "; echo $$ > " + in("pid.new") + "; mv " + in("pid.new") + " " + in("pid") +
            "; exec sleep 600",
        0);
    _exit(1);
  }
  waitpid(plumbline, nullptr, 0);
  const pid_t command = pid_in("pid");
  ASSERT_GT(command, 0);

  EXPECT_TRUE(ends_soon(command));

  kill(command, SIGKILL);
  int status = 0;
  EXPECT_EQ(waitpid(command, &status, 0), command);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  std::string scratch;
  std::ifstream(folder_ / "scratch") >> scratch;
  fs::remove_all(scratch);  // otherwise the next plumbline removes it
}

// It has removed the variable that identifies it, while another launch runs.
TEST_F(LaunchedCommand, IsRecognizedWithoutItsEnvironment) {
  const ProcessTree another;

  const auto finding = run("exec env -i sleep 3", 0, 100ms);

  EXPECT_TRUE(finding.timed_out);
  EXPECT_EQ(finding.exit_code, 128 + SIGTERM);
}

TEST_F(LaunchedCommand, SecondsCoverStartToEnd) {
  const auto begin = std::chrono::steady_clock::now();

  const auto finding = run("looked_at $1 0", 0);

  EXPECT_GE(finding.seconds, 0.02) << "two polls";
  EXPECT_LE(finding.seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

}  // namespace
}  // namespace plumbline::testing
