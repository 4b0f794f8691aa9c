// SPDX-License-Identifier: BSD-3-Clause
// Which rank is blamed for a failed launch, and how its processes end.
#include <signal.h>
#include <sys/wait.h>

#include "harness/launch/process_tree.hpp"
#include "support/error.hpp"
#include "tests/harness/launch/launch_test.hpp"
#include "tests/harness/launch/open_files.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class EndOfALaunch : public LaunchTest {
 protected:
  std::string command() const { return in("rank"); }
};

const std::string rank_0_runs = "(page $1 0 0 1 0RECV_B0; exec sleep 600) & ";
const std::string rank_1_leaves = "(page $1 1 0 -1 1F0; looked_at $1 2; exit 0) & ";
const std::string rank_1_left_without_a_word =
    "rank 1 ended without writing exit.json in 1F0 of step 0; rank 0 waited for it";

TEST_F(EndOfALaunch, ASilentlyLostRankIsNamedEvenIfItsCommandSucceeded) {
  const auto finding = run("page $1 0 0 -1 0F0; looked_at $1 1; exit 0");

  EXPECT_EQ(finding.exit_code, 0);
  EXPECT_EQ(finding.culprit_rank, 0);
  EXPECT_EQ(finding.words, "rank 0 ended without writing exit.json in 0F0 of step 0");
}

TEST_F(EndOfALaunch, ACommandThatAbandonsItsRanksIsReported) {
  const std::string in_the_background =
      " running in the background, which the sweep killed: a command must not end before its ranks";

  EXPECT_EQ(run(rank_0_runs + "looked_at $1 1; exit 0").words,
            command() + " ended with code 0 and left 1 process" + in_the_background);
  EXPECT_EQ(run(rank_0_runs + "sleep 600 & looked_at $1 1; exit 0").words,
            command() + " ended with code 0 and left 2 processes" + in_the_background);
}

TEST_F(EndOfALaunch, IfAllRanksCompletedOtherProcessesAreNotMentioned) {
  EXPECT_EQ(run("page $1 0 0 -1 0F0; sleep 600 & looked_at $1 1; ended $1 0 ok 0").words, "");
}

TEST_F(EndOfALaunch, ACommandWithoutRanksIsReportedByItsCode) {
  for (const int code : {0, 3}) {
    const auto finding = run("sleep 600 & exit " + std::to_string(code), 0);
    EXPECT_EQ(finding.exit_code, code);
    EXPECT_EQ(finding.words, "");
  }
}

TEST_F(EndOfALaunch, AKilledLauncherIsNotARank) {
  const auto finding = run(rank_0_runs + "looked_at $1 1; kill -KILL $$");

  EXPECT_EQ(finding.exit_code, 128 + SIGKILL);
  EXPECT_EQ(finding.words, command() + " was killed by signal 9 (SIGKILL), which ends its ranks");
  EXPECT_FALSE(finding.culprit_rank);
}

TEST_F(EndOfALaunch, ATerminatedMpirunIsNotARank) {
  grace_ = patience;
  const auto mpirun =
      program(folder_, "mpirun",
              "(page $1 0 0 1 0RECV_B0; exec sleep 600) & one=$!; (page $1 1 0 -1 1F0; exec sleep 600) & other=$!\n"
              "trap 'kill -KILL $one $other; wait; exit 1' TERM; looked_at $1 2; echo $$ > " +
                  in("pid.new") + "; mv " + in("pid.new") + " " + in("pid") + "; wait\n");
  bool signaled = false;
  at_glance_ = [&] {
    if (!signaled && fs::exists(folder_ / "pid")) signaled = kill(pid_in("pid"), SIGTERM) == 0;
  };

  const auto finding = run_command({mpirun.string(), record()}, 2);

  EXPECT_EQ(finding.words,
            in("mpirun") + " ended with code 1 without reporting a failed rank, as if it received a signal to end");
  EXPECT_FALSE(finding.culprit_rank);
}

/// Stops its parent, and exits once the parent is stopped.
const std::string a_rank_stops_its_launcher =
    "launcher=$$; (page $1 $rank 1 -1 ${rank}F1; looked_at $1 $ranks; kill -STOP $launcher; "
    "until [[ $(< /proc/$launcher/stat) == *') T '* ]]; do :; done; exit 0) & wait";

TEST_F(EndOfALaunch, AStoppedLauncherIsBlamedForItsRanks) {
  grace_ = 50ms;

  const auto finding = run("rank=0 ranks=1; " + a_rank_stops_its_launcher, 1, patience);

  EXPECT_EQ(finding.words, command() + " was stopped (SIGSTOP)");
  EXPECT_FALSE(finding.culprit_rank);
}

TEST_F(EndOfALaunch, AStoppedCommandThatIsItselfARankIsNamedAsARank) {
  grace_ = 50ms;

  const auto finding = run("page $1 0 1 -1 0F1; rank=1 ranks=2; " + a_rank_stops_its_launcher, 2, patience);

  EXPECT_THAT(finding.words, StartsWith("rank "));
  EXPECT_TRUE(finding.culprit_rank);
}

TEST_F(EndOfALaunch, ALauncherThatNoticesADeathMayEndTheOtherRanksItself) {
  grace_ = patience;

  const auto finding = run(rank_1_leaves + "(trap 'echo yes > " + in("terminated") +
                               "; exit 0' TERM; page $1 0 0 1 0RECV_B0; sleep 600 & wait) & other=$!; "
                               "wait -n; looked_at $1 2; kill -TERM $other; wait $other; exit 1",
                           2);

  EXPECT_TRUE(fs::exists(folder_ / "terminated"));
  EXPECT_EQ(finding.culprit_rank, 1);
}

// The launcher saw only rank 0, which this sweep had killed for it.
TEST_F(EndOfALaunch, ARankKilledByTheSweepIsNotBlamed) {
  grace_ = 200ms;

  const auto finding = run(rank_1_leaves + rank_0_runs +
                               "wait; looked_at $1 2; echo 'mpirun noticed that process rank 0 with PID 0 on node x "
                               "exited on signal 9 (Killed).' >&2; exit 137",
                           2);

  EXPECT_EQ(finding.culprit_rank, 1);
  EXPECT_EQ(finding.words, rank_1_left_without_a_word);
}

TEST_F(EndOfALaunch, ALauncherWithoutRanksIsEndedBeforeTheTimeLimit) {
  grace_ = 50ms;

  const auto finding = run(rank_1_leaves + rank_0_runs + "while :; do sleep 600; done", 2, 5s);

  EXPECT_FALSE(finding.timed_out);
  EXPECT_EQ(finding.words, rank_1_left_without_a_word);
}

// Also if a heartbeat is a pipe, which blocks when it is opened until it has a writer.
TEST_F(EndOfALaunch, TheTimeLimitIsReportedEvenIfTheCommandExitsWithZero) {
  for (const char* body : {"trap 'exit 0' TERM; page $1 0 0 -1 0F0; sleep 600 & wait",
                           "mkdir -p $1/rank-0; mkfifo $1/rank-0/progress; exec sleep 600"}) {
    const auto finding = run(body, 1, 500ms);
    EXPECT_TRUE(finding.timed_out);
    EXPECT_THAT(finding.words, StartsWith("the time limit of 0.5 s passed: "));
    fs::remove_all(record());
  }
}

TEST_F(EndOfALaunch, TheLastLineIsFoundAfterAnyAmountOfOutput) {
  const auto finding =
      run("head -c 10000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo 'rank: rank 0: no such device' >&2; exit 2");

  EXPECT_THAT(finding.words, HasSubstr("rank: rank 0: no such device"));
  EXPECT_EQ(finding.culprit_rank, 0);
}

// The judge or another launch may use up all allowed open files.
TEST_F(EndOfALaunch, WithoutProcNoProcessCountsAsEndedAndNoneRemains) {
  std::unique_ptr<NoMoreFiles> full;
  at_glance_ = [&] {
    if (!full && fs::exists(folder_ / "pids")) full = std::make_unique<NoMoreFiles>();
  };

  const auto message = error_of<SystemError>([&] {
    run("page $1 0 0 -1 0F0; looked_at $1 1; trap '' TERM; setsid sleep 600 & echo $$ $! > " + in("pids.new") +
        "; mv " + in("pids.new") + " " + in("pids") + "; wait; sleep 600");
  });

  full.reset();
  EXPECT_THAT(message, StartsWith("/proc cannot be read: Too many open files"));
  pid_t command = 0, behind = 0;
  std::ifstream(folder_ / "pids") >> command >> behind;
  EXPECT_TRUE(command > 0 && behind > 0);
  for (const pid_t pid : {command, behind}) {
    EXPECT_FALSE(process_state(pid));
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

// As if plumbline's parent ignored the ends of its children.
TEST_F(EndOfALaunch, IsSeenEvenIfEndsOfChildrenAreIgnored) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);

  const auto finding = run("exit 7", 0, 20s);

  ::signal(SIGCHLD, before);
  EXPECT_EQ(finding.exit_code, 7);
  EXPECT_FALSE(finding.timed_out);
}

// mpirun and the ranks of a run that must stop after some step.
TEST_F(EndOfALaunch, RanksThatStopOnRequestAreAwaited) {
  grace_ = 100ms;

  const auto finding =
      run("(page $1 0 0 -1 0STEP; looked_at $1 2; ended $1 0 stopped 0) & first=$!\n"
          "page $1 1 0 -1 1STEP; wait $first; sleep 1; ended $1 1 stopped 0",
          2);

  EXPECT_EQ(finding.exit_code, 0);
  EXPECT_EQ(finding.words, "");
  EXPECT_FALSE(finding.culprit_rank);
}

/// `command` is a launcher that starts "rank", twice where its text has RANKS.
class LauncherOfAProgram : public LaunchTest {
 protected:
  LaunchFinding launched(const std::string& launcher, const std::string& rank,
                         std::chrono::milliseconds limit = 10min) {
    const std::string both = "\"$1\" \"$2\" & \"$1\" \"$2\" & wait";
    std::string body = launcher;
    if (const auto at = body.find("RANKS"); at != std::string::npos) body.replace(at, 5, both);
    given_.program = program(folder_, "rank", rank).string();
    return run_command({program(folder_, "launcher", body).string(), given_.program, record()}, 2, limit);
  }
  std::string refusal(const std::string& launcher, const std::string& rank, std::chrono::milliseconds limit = 10min) {
    return error_of<SystemError>([&] { launched(launcher, rank, limit); });
  }
  /// Long enough for a poll to see it.
  static constexpr const char* a_while = "looked_at $1 0; ";
};

TEST_F(LauncherOfAProgram, IsBlamedIfItStartedNothing) {
  EXPECT_THAT(refusal("exit 0", "exit 0"), AllOf(StartsWith(in("launcher")), HasSubstr("started nothing"),
                                                 HasSubstr("no process of rank was seen of the 2 requested")));
  EXPECT_THAT(refusal("echo 'no such host' >&2; exit 5", "exit 0"),
              AllOf(HasSubstr("ended with code 5 and started nothing"), HasSubstr("it printed: no such host"),
                    HasSubstr(in("command.txt"))));
  EXPECT_THAT(refusal("exec sleep 600", "exit 0", 100ms), HasSubstr("started nothing within the time limit"));
}

TEST_F(LauncherOfAProgram, IsNotBlamedIfProcessesWereSeen) {
  const auto finding = launched("RANKS; exit 3", std::string(a_while) + "exit 3");

  EXPECT_EQ(finding.words, in("launcher") + " ended with code 3 before any rank had started");
}

// As if the ranks ran on another machine.
TEST_F(LauncherOfAProgram, IsNotBlamedIfRanksLeftTraces) {
  const auto finding = launched("for rank in 0 1; do page $2 $rank 0 -1 0F0; ended $2 $rank ok 0; done", "exit 0");

  EXPECT_EQ(finding.words, "");
}

TEST_F(LauncherOfAProgram, IsBlamedForSeparateWorldsUnlessThreads) {
  const auto rank_of = [&](const std::string& transport) {
    return "mkdir -p $1; echo '{\"transport\": \"" + transport + "\", \"world_size\": 1}' > $1/manifest.json; " +
           a_while;
  };
  EXPECT_THAT(refusal("RANKS", rank_of("mpi")), HasSubstr("started 2 processes of rank that do not form one world"));
  EXPECT_EQ(launched("RANKS", rank_of("threads")).words, "");
}

TEST_F(LauncherOfAProgram, IsNotBlamedWhenItIsStopped) {
  at_glance_ = [] { kill(getpid(), SIGINT); };

  const auto finding = launched("exec sleep 600", "exit 0");

  EXPECT_TRUE(finding.interrupted);
  EXPECT_EQ(finding.words, "stopped by SIGINT");
}

}  // namespace
}  // namespace plumbline::testing
