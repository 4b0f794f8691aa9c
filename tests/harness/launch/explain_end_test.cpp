// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/explain_end.hpp"

#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

RankSight sight_of(std::int64_t rank, bool seen) {
  RankSight sight;
  sight.rank = rank;
  sight.seen = sight.found = seen;
  sight.action = seen ? std::to_string(rank) + "F0" : "";
  sight.step = seen ? 1 : -1;
  return sight;
}

ExitFile exit_of(std::int64_t rank, const std::string& status) {
  return {rank, status, status == "ok" ? 0 : 1, std::nullopt, ""};
}

/// A launch by mpirun of three ranks, which have been seen.
class ExplainEnd : public ::testing::Test {
 protected:
  ExplainEnd() {
    launch_.command = {"mpirun", "-n", "3", "trainer"};
    launch_.folder = folder_.path();
    launch_.ranks = 3;
    launch_.speaker = "trainer";
    launch_.time_limit = std::chrono::milliseconds(1500);
    finding_.exit_code = 1;
    see(true);
  }
  void see(bool seen) {
    end_.any_seen = seen;
    end_.sights = {sight_of(0, seen), sight_of(1, seen), sight_of(2, seen)};
  }
  LaunchFinding explained(const std::string& said = "") {
    folder_.file("stderr.txt", said);
    LaunchFinding finding = finding_;
    explain(end_, finding);
    return finding;
  }

  TemporaryFolder folder_;
  Launch launch_;
  LaunchEnd end_{launch_, {}};
  LaunchFinding finding_;
};

const std::string limit_passed = "the time limit of 1.5 s passed: ";
const std::string rank_2_died = "process rank 2 with PID 0 on node n exited on signal 11 (Segmentation fault).\n";

TEST_F(ExplainEnd, ALauncherThatASignalEndedIsNotConfusedWithItsRanks) {
  end_.launcher_signal = 9;

  const auto finding = explained();

  EXPECT_EQ(finding.words, "mpirun was killed by signal 9 (SIGKILL), which ends its ranks");
  EXPECT_FALSE(finding.culprit_rank);
}

// As mpirun 4.1.4, which may crash within PMIx when a rank is killed at its end.
TEST_F(ExplainEnd, ALauncherThatCrashesAfterARankIsNotBlamed) {
  end_.launcher_signal = 11;
  end_.sights[2].gone = true;
  EXPECT_EQ(explained(rank_2_died).culprit_rank, 2);
  EXPECT_EQ(explained(rank_2_died).words, "rank 2 was killed by signal 11 (SIGSEGV) in 2F0 of step 1");
}

TEST_F(ExplainEnd, ARankThatCannotStartIsNamedWithTheCause) {
  see(false);
  const std::string rule = std::string(74, '-') + "\n";
  const auto finding = explained(rule + "A system call failed\n  Error: File too large\n" + rule +
                                 "[vm:1] *** An error occurred in MPI_Init_thread\n"
                                 "[vm:1] *** reported by process [232849409,1]\n"
                                 "[vm:1] ***    and potentially your MPI job)\n");
  EXPECT_EQ(finding.culprit_rank, 1);
  EXPECT_EQ(finding.words,
            "mpirun ended with code 1 before any rank had started, rank 1 first: A system call failed Error: File too "
            "large");
}

TEST_F(ExplainEnd, ALauncherThatWasStoppedIsNamed) {
  end_.launcher_stopped = true;
  finding_.timed_out = true;
  EXPECT_EQ(explained().words, limit_passed + "mpirun was stopped (SIGSTOP)");
}

// Open MPI 4 says nothing then, and ends its ranks one after the other.
TEST_F(ExplainEnd, ATerminatedLauncherIsNotConfusedWithItsRanks) {
  end_.by_itself = true;
  for (RankSight& sight : end_.sights) {
    sight.gone = true;
    sight.gone_order = sight.rank + 1;
  }

  const auto finding = explained("step 1/40  loss 6.2\n");

  EXPECT_EQ(finding.words,
            "mpirun ended with code 1 without reporting a failed rank, as if it received a signal to end");
  EXPECT_FALSE(finding.culprit_rank);

  end_.sights[0].gone = end_.sights[2].gone = false;  // on a loaded machine
  EXPECT_EQ(explained().words, finding.words);
}

TEST_F(ExplainEnd, AFailedRankIsBlamedBeforeATerminatedLauncher) {
  end_.by_itself = true;
  for (RankSight& sight : end_.sights) {
    sight.gone = true;
    sight.gone_order = sight.rank + 1;
  }
  const auto expect_blamed = [&](const std::string& said, std::int64_t culprit) {
    EXPECT_EQ(explained(said).culprit_rank, culprit) << explained(said).words;
  };

  expect_blamed(rank_2_died, 2);
  expect_blamed("MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\n", 0);
  end_.by_itself = false;
  expect_blamed("", 0);
  end_.by_itself = true;
  end_.sights[1].exit = exit_of(1, "error");
  expect_blamed("", 1);
  end_.sights[1].exit.reset();
  for (RankSight& sight : end_.sights) sight.gone = false;
  expect_blamed("", 0);
  for (RankSight& sight : end_.sights) sight.gone = true;
  launch_.command = {"other-launcher"};
  expect_blamed("", 0);
}

TEST_F(ExplainEnd, ARunThatNeverStartedIsReportedWithItsLastLine) {
  see(false);
  const auto silent = explained();
  EXPECT_FALSE(silent.started);
  EXPECT_FALSE(silent.culprit_rank);
  EXPECT_EQ(silent.words, "mpirun ended with code 1 before any rank had started");

  const auto told = explained("trainer: rank 2: no such device\n");
  EXPECT_EQ(told.culprit_rank, 2);
  EXPECT_EQ(told.words, "mpirun ended with code 1 before any rank had started: trainer: rank 2: no such device");

  finding_.timed_out = true;
  EXPECT_EQ(explained().words, limit_passed + "no rank had started");
}

TEST_F(ExplainEnd, ARankIsBlamedIfTheTrainerNamesIt) {
  see(false);
  for (const char* said : {"other: rank 2: no such device\n", "trainer: no rank 2: in sight\n", "trainer: rank x: ?\n",
                           "rank 2 ended the run: no such device\n"})
    EXPECT_FALSE(explained(said).culprit_rank) << said;
  launch_.speaker = "";
  EXPECT_FALSE(explained(": rank 2: no such device\n").culprit_rank) << "whose words these are is not known";
}

TEST_F(ExplainEnd, TheSignalThatALauncherNamesEndedARankThatWasNotSeen) {
  see(false);
  const auto finding = explained(rank_2_died);

  EXPECT_TRUE(finding.started);
  EXPECT_EQ(finding.culprit_rank, 2);
  EXPECT_EQ(finding.words, "rank 2 was killed by signal 11 (SIGSEGV) before its first heartbeat");
}

const std::string rank_1_first =
    "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
    "the job to be terminated. The first process to do so was:\n\n"
    "  Process name: [[26338,1],1]\n  Exit code:    77\n";

TEST_F(ExplainEnd, TheFirstRankWithACodeIsNamedEvenIfUnseen) {
  finding_.exit_code = 77;
  see(false);
  EXPECT_EQ(explained(rank_1_first).culprit_rank, 1);
  EXPECT_THAT(explained(rank_1_first).words, HasSubstr("ended with code 77 before any rank had started, rank 1 first"));
  EXPECT_EQ(explained(rank_1_first + "trainer: rank 2: no such device\n").culprit_rank, 2) << "who says it itself";

  end_.any_seen = true;
  end_.sights[0] = sight_of(0, true);
  end_.sights[0].gone = true;  // mpirun ended it
  EXPECT_EQ(explained(rank_1_first).words, "rank 1 ended without writing exit.json before its first heartbeat");
}

TEST_F(ExplainEnd, OfSeveralThatLeftTogetherTheLauncherNamesTheFirst) {
  for (RankSight& sight : end_.sights) sight.gone = true;
  EXPECT_EQ(explained(rank_1_first).words, "rank 1 ended without writing exit.json in 1F0 of step 1");

  end_.sights[1].gone = false;  // it was our own signal that ended it
  EXPECT_NE(explained(rank_1_first).culprit_rank, 1);
}

TEST_F(ExplainEnd, TheSignalThatALauncherNamesIsOursWhereTheRankWasStillThere) {
  EXPECT_THAT(explained(rank_2_died).words, Not(HasSubstr("signal 11")));

  end_.sights[2].gone = true;
  EXPECT_THAT(explained(rank_2_died).words, HasSubstr("rank 2 was killed by signal 11 (SIGSEGV) in 2F0 of step 1"));
}

TEST_F(ExplainEnd, OfSeveralThatFailedTheOneThatTheLauncherNamesIsTheCause) {
  for (RankSight& sight : end_.sights) sight.exit = exit_of(sight.rank, "error");

  EXPECT_EQ(explained().culprit_rank, 0);
  EXPECT_EQ(explained("process rank 2 with PID 0 on node n exited on signal 15 (Terminated).\n").culprit_rank, 2);
}

/// torchrun's table of a rank that ended with a code of its own.
TEST_F(ExplainEnd, ARankThatEndedWithACodeWasEndedByNoSignal) {
  const std::string table =
      "Root Cause (first observed failure):\n[0]:\n  rank      : 1 (local_rank: 1)\n  exitcode  : 1 (pid: 4276)\n";
  for (RankSight& sight : end_.sights) sight.gone = true;
  EXPECT_THAT(explained(table).words, Not(HasSubstr("signal")));

  for (RankSight& sight : end_.sights) sight.exit = exit_of(sight.rank, "error");
  EXPECT_EQ(explained(table).words, "rank 1 ended with an error (exit code 1) in 1F0 of step 1");
}

TEST_F(ExplainEnd, ARankThatTheRunLacksIsNotBlamed) {
  for (const char* rank : {"3", "7"}) {
    const auto finding =
        explained(std::string("process rank ") + rank + " with PID 0 on node n exited on signal 11 (x).\n");
    EXPECT_NE(finding.culprit_rank, std::stoi(rank));
  }
  see(false);
  end_.sights.clear();
  EXPECT_FALSE(explained("process rank 0 with PID 0 on node n exited on signal 11 (x).\n").culprit_rank);
}

TEST_F(ExplainEnd, TheSignalOfACommandThatIsItselfTheRankIsRankZeros) {
  end_.sights = {sight_of(0, true)};
  end_.own_signal = 11;
  EXPECT_EQ(explained().words, "rank 0 was killed by signal 11 (SIGSEGV) in 0F0 of step 1");
}

TEST_F(ExplainEnd, IfEveryRankCompletedTheLauncherIsBlamed) {
  finding_.exit_code = 3;
  for (RankSight& sight : end_.sights) sight.exit = exit_of(sight.rank, "ok");
  EXPECT_EQ(explained().words, "every rank completed, but mpirun ended with code 3");
  EXPECT_EQ(explained("cannot clean up\n").words,
            "every rank completed, but mpirun ended with code 3: cannot clean up");
  EXPECT_FALSE(explained().culprit_rank);
}

// In MPI_Finalize, behind its record.
TEST_F(ExplainEnd, IfEveryRankCompletedTheRemainingProcessIsNamed) {
  for (RankSight& sight : end_.sights) sight.exit = exit_of(sight.rank, "ok");
  finding_.timed_out = true;
  EXPECT_EQ(explained().words,
            limit_passed + "every rank completed, but the processes of ranks 0, 1 and 2 did not end");
  EXPECT_FALSE(explained().culprit_rank);

  end_.sights[1].still = true;
  EXPECT_EQ(explained().words, limit_passed + "every rank completed, but rank 1's process did not end");
  EXPECT_EQ(explained().culprit_rank, 1);
}

TEST_F(ExplainEnd, ARankKilledAfterItsRunIsNamed) {
  for (RankSight& sight : end_.sights) {
    sight.exit = exit_of(sight.rank, "ok");
    sight.gone = true;
  }
  const auto finding = explained(rank_2_died);
  EXPECT_THAT(finding.words, HasSubstr("every rank completed, but rank 2 was killed by signal 11 (SIGSEGV) then"));
  EXPECT_EQ(finding.culprit_rank, 2);
}

TEST_F(ExplainEnd, OneFailedRankIsEnough) {
  for (RankSight& sight : end_.sights) sight.exit = exit_of(sight.rank, "ok");
  EXPECT_TRUE(all_ended_well(end_.sights));
  end_.sights[2].exit = exit_of(2, "error");
  EXPECT_FALSE(all_ended_well(end_.sights));
  EXPECT_EQ(explained().culprit_rank, 2);
  end_.sights[2].exit.reset();
  EXPECT_FALSE(all_ended_well(end_.sights));
  EXPECT_EQ(explained().culprit_rank, 2);
}

TEST_F(ExplainEnd, SilentRanksAreQuoted) {
  see(false);
  end_.any_seen = true;
  const std::string no_page = "its ranks do not write heartbeats, so their actions are unknown";
  EXPECT_EQ(explained().words, "mpirun ended with code 1; " + no_page);
  EXPECT_EQ(explained("Traceback: KeyError\n").words,
            "mpirun ended with code 1; " + no_page + ". Last error line: Traceback: KeyError");

  const auto own = explained("trainer: rank 2: bad configuration\n");
  EXPECT_EQ(own.words,
            "mpirun ended with code 1 before the first step. Last error line: trainer: rank 2: bad configuration");
  EXPECT_EQ(own.culprit_rank, 2);

  finding_.timed_out = true;
  EXPECT_EQ(explained("Traceback: KeyError\n").words,
            limit_passed + no_page + ". Last error line: Traceback: KeyError");
}

TEST_F(ExplainEnd, ARecordRemovedDuringTheRunIsReported) {
  see(false);
  end_.any_seen = true;
  for (auto& sight : end_.sights) sight.found = true;
  launch_.record = folder_ / "record";
  const auto finding = explained("trainer: rank 2: rank-2/steps.csv: cannot be written\n");
  EXPECT_EQ(finding.culprit_rank, 2);
  EXPECT_EQ(finding.words,
            "mpirun ended with code 1; the folder of its record, " + launch_.record.string() +
                ", was removed while it ran. Last error line: trainer: rank 2: rank-2/steps.csv: cannot be written");
}

TEST_F(ExplainEnd, RanksReactionsToOurKillAreIgnored) {
  finding_.timed_out = true;
  const std::string before = "trainer: rank 1 waits\n", after = "trainer: ended by SIGTERM\n";
  end_.said_before = before.size();
  EXPECT_THAT(explained(before + after).words, EndsWith(". Last error line: trainer: rank 1 waits"));
  end_.said_before = 0;
  EXPECT_THAT(explained(before + after).words, Not(HasSubstr("Last error line")));
}

TEST_F(ExplainEnd, AnExitFileAloneShowsARank) {
  see(false);
  end_.any_seen = true;
  end_.sights[1].exit = exit_of(1, "error");
  EXPECT_EQ(explained().culprit_rank, 1);
}

TEST_F(ExplainEnd, TheTrainersMessageFollowsTheDiagnosis) {
  end_.sights[1].exit = exit_of(1, "error");
  const std::string diagnosis = "rank 1 ended with an error (exit code 1) in 1F0 of step 1";
  EXPECT_EQ(explained().words, diagnosis);
  EXPECT_EQ(explained("some banner\n").words, diagnosis);
  EXPECT_EQ(explained("trainer: rank 1: no data\n").words, diagnosis + ". Last error line: trainer: rank 1: no data");

  launch_.speaker = "";
  EXPECT_EQ(explained().words, diagnosis);
  EXPECT_EQ(explained("KeyError\n").words, diagnosis + ". Last error line: KeyError") << "whose words may be anybody's";
}

}  // namespace
}  // namespace plumbline::testing
