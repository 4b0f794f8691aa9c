// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/launcher.hpp"

#include <signal.h>
#include <unistd.h>

#include "harness/launch/process_tree.hpp"
#include "support/json_text.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/harness/launch/launch_test.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/record/mesh_json.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class Launcher : public LaunchTest {};

TEST_F(Launcher, NormalExitKeepsBothOutputs) {
  const auto finding = run("echo to-out; echo to-error >&2; page $1 0 0 -1 0F0; sleep 0.1; ended $1 0 ok 0");

  EXPECT_EQ(finding.exit_code, 0);
  EXPECT_TRUE(finding.started);
  EXPECT_FALSE(finding.timed_out);
  EXPECT_EQ(finding.words, "");
  EXPECT_EQ(bytes_of(folder_ / "stdout.txt"), "to-out\n");
  EXPECT_EQ(bytes_of(folder_ / "stderr.txt"), "to-error\n");
}

TEST_F(Launcher, ReportsCodeAndLastLineOfAProgramThatNeverStartedARank) {
  const auto finding = run("echo noise >&2; echo 'rank: run.toml:3: no such model' >&2; echo ------- >&2; exit 2");

  EXPECT_EQ(finding.exit_code, 2);
  EXPECT_FALSE(finding.started);
  EXPECT_THAT(finding.words, HasSubstr("run.toml:3: no such model"));
}

TEST_F(Launcher, ChildHasOneThreadAndATemporaryFolder) {
  run("echo $OMP_NUM_THREADS; echo $TMPDIR; touch $TMPDIR/segment; echo $OMPI_MCA_btl_vader_backing_directory", 0);

  std::istringstream stdout_text(bytes_of(folder_ / "stdout.txt"));
  std::string threads, scratch, segments;
  stdout_text >> threads >> scratch >> segments;
  EXPECT_EQ(threads, "1");
  EXPECT_THAT(scratch, HasSubstr("plumbline-"));
  EXPECT_EQ(segments, scratch);
  EXPECT_FALSE(fs::exists(scratch));
}

TEST_F(Launcher, NamesSignalAndPlaceOfADeath) {
  const auto finding = run("page $1 0 3 -1 0B2; looked_at $1 1; kill -SEGV $$; sleep 600");

  EXPECT_EQ(finding.exit_code, 128 + SIGSEGV);
  EXPECT_EQ(finding.culprit_rank, 0);
  EXPECT_THAT(finding.words, HasSubstr("rank 0 was killed by signal 11 (SIGSEGV) in 0B2 of step 3"));
}

TEST_F(Launcher, NamesAKilledRankAndItsWaitersAndEndsTheRest) {
  grace_ = patience;

  const auto finding = run_ranks(
      "case $FAKE_RANK in 2) page $1 2 1 -1 2B3; looked_at $1 3; kill -KILL $$;;"
      " 0) page $1 0 1 1 0RECV_B3; echo $$ > " +
          in("pid") + "; sleep 600;; 1) page $1 1 1 2 1RECV_B3; sleep 600;; esac",
      3);

  EXPECT_EQ(finding.culprit_rank, 2);
  EXPECT_EQ(finding.words, "rank 2 was killed by signal 9 (SIGKILL) in 2B3 of step 1; ranks 0 and 1 waited for it");
  EXPECT_FALSE(finding.timed_out);
  EXPECT_FALSE(process_state(pid_in("pid")));
}

TEST_F(Launcher, FindsADeadRankThatItsLauncherMisses) {
  const auto finding =
      run("(page $1 1 0 -1 1F4; looked_at $1 2) & page $1 0 0 1 0RECV_B4; trap '' TERM; wait; sleep 600; ", 2);

  EXPECT_EQ(finding.culprit_rank, 1);
  EXPECT_THAT(finding.words, HasSubstr("rank 1 ended without writing exit.json in 1F4 of step 0; rank 0 waited"));
  EXPECT_FALSE(finding.timed_out);
}

TEST_F(Launcher, WaitsForASlowLaunchersReportOfTheSignal) {
  grace_ = 2s;
  const auto slow = program(
      folder_, "slow-mpirun",
      "$1 $2 1 & $1 $2 0 & wait -n; wait\n"
      "echo 'mpirun noticed that process rank 1 with PID 0 on node x exited on signal 11 (Killed).' >&2; exit 139\n");
  const auto rank =
      program(folder_, "rank",
              "page $1 $2 0 -1 ${2}F0; looked_at $1 2; [ $2 = 1 ] && kill -SEGV $$; trap '' TERM; sleep 600\n");

  const auto finding = run_command({slow.string(), rank.string(), record()}, 2, 10min);

  EXPECT_EQ(finding.words, "rank 1 was killed by signal 11 (SIGSEGV) in 1F0 of step 0");
  EXPECT_FALSE(finding.timed_out);
}

TEST_F(Launcher, QuotesARanksError) {
  grace_ = patience;

  const auto finding = run_ranks(
      "page $1 $FAKE_RANK 0 -1 ${FAKE_RANK}F0; looked_at $1 2; [ $FAKE_RANK = 0 ] && sleep 600;"
      "ended $1 1 error 1; echo 'rank: rank 1: header says microbatch 2' >&2; exit 1",
      2);

  EXPECT_EQ(finding.culprit_rank, 1);
  EXPECT_THAT(finding.words, HasSubstr("rank 1 ended with an error (exit code 1) in 1F0 of step 0"));
  EXPECT_THAT(finding.words, HasSubstr("header says microbatch 2"));
}

TEST_F(Launcher, HangEndsAtTheTimeLimitAndNamesTheStoppedRank) {
  const auto finding = run_ranks(
      "if [ $FAKE_RANK = 1 ]; then page $1 1 2 -1 1F1; kill -STOP $$; else page $1 0 2 1 0RECV_B0; fi; sleep 600", 2,
      10s);

  EXPECT_TRUE(finding.timed_out);
  EXPECT_LT(finding.seconds, 20) << "less than twice its limit";
  EXPECT_EQ(finding.culprit_rank, 1);
  EXPECT_EQ(finding.words,
            "the time limit of 10 s passed: rank 1 was stopped (SIGSTOP) in 1F1 of step 2; rank 0 waited for it");
}

const std::string stops_at_once = "[ $FAKE_RANK = 1 ] && exec env RANK=1 sh -c 'kill -STOP $$'; sleep 600";

TEST_F(Launcher, NamesARankThatStopsBeforeItsFirstHeartbeat) {
  given_.stopped_start_limit = milliseconds(500);

  const auto finding = run_ranks(stops_at_once, 2, 60s);

  EXPECT_FALSE(finding.timed_out);
  EXPECT_LT(finding.seconds, 30);
  EXPECT_EQ(finding.culprit_rank, 1);
  EXPECT_THAT(finding.words, HasSubstr("rank 1 was stopped (SIGSTOP) before its first heartbeat, for 0 s"));
}

TEST_F(Launcher, NamesARankThatStoppedBeforeItsHeartbeatAtTheTimeLimit) {
  const auto finding = run_ranks(stops_at_once, 2, 2s);

  EXPECT_TRUE(finding.timed_out);
  EXPECT_EQ(finding.culprit_rank, 1);
  EXPECT_EQ(finding.words, "the time limit of 2 s passed: rank 1 was stopped (SIGSTOP) before its first heartbeat");
}

/// Ranks 0 and 2 are one pipeline, 1 and 3 the other; each numbers its peers within its own pipeline.
TEST_F(Launcher, RanksOfSeveralPipelinesHaveTheLaunchersNumbers) {
  Json manifest = synthetic_candidate({}).manifest;
  manifest["role"] = "external";
  manifest["mesh"] = mesh_json({{"replica", 2}, {"pp", 2}}, {{0, 2}, {1, 3}}, 0);
  folder_.file("manifest.json", json_text(manifest));

  const auto finding = run_ranks(
      "replica=$1/replica-$((FAKE_RANK % 2)) rank=$((FAKE_RANK / 2)); mkdir -p $replica; cp " + in("manifest.json") +
          " $replica/$rank; mv $replica/$rank $replica/manifest.json;"
          " if [ $FAKE_RANK = 3 ]; then page $replica 1 2 -1 1F1; kill -STOP $$;"
          " else page $replica $rank 2 $((1 - rank)) 0RECV_B0; fi; sleep 600",
      4, 10s);

  EXPECT_EQ(finding.culprit_rank, 3);
  EXPECT_THAT(finding.words, HasSubstr("rank 3 (replica 1, rank 1, stage 1) was stopped (SIGSTOP) in 1F1 of step 2; "
                                       "rank 1 waited for it"));
}

TEST_F(Launcher, EndsAGrandchildThatLeftSessionAndParent) {
  const auto finding = run("setsid bash -c 'trap \"\" TERM; echo $$ > " + in("pid") + "; sleep 600' & until [ -s " +
                               in("pid") + " ]; do sleep 0.02; done; exit 0",
                           0);

  EXPECT_EQ(finding.exit_code, 0);
  const pid_t orphan = pid_in("pid");
  ASSERT_GT(orphan, 0);
  EXPECT_FALSE(process_state(orphan)) << "neither running nor left as a zombie";
}

TEST_F(Launcher, CtrlCEndsTheRunAndIsReported) {
  bool signaled = false;
  at_glance_ = [&] {
    if (!signaled && fs::exists(folder_ / "pid")) signaled = kill(getpid(), SIGINT) == 0;
  };

  const auto finding = run("trap '' INT; page $1 0 0 -1 0F0; echo $$ > " + in("pid.new") + "; mv " + in("pid.new") +
                           " " + in("pid") + "; sleep 600");

  EXPECT_TRUE(finding.interrupted);
  EXPECT_EQ(finding.words, "stopped by SIGINT");
  EXPECT_FALSE(process_state(pid_in("pid")));
}

}  // namespace
}  // namespace plumbline::testing
