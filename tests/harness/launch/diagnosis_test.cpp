// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/diagnosis.hpp"

#include <gmock/gmock.h>

#include "support/signals.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

RankSight sight(std::int64_t rank, const std::string& action, std::int64_t peer) {
  RankSight sight;
  sight.rank = rank;
  sight.seen = true;
  sight.action = action;
  sight.step = 1;
  sight.peer = peer;
  return sight;
}

ExitFile exit_file(std::int64_t rank, const std::string& status, int code) {
  return {rank, status, code, std::nullopt, ""};
}

/// Changes of a sight.
RankSight gone(RankSight sight, int order) {
  sight.gone = true;
  sight.gone_order = order;
  return sight;
}
RankSight ended(RankSight sight, const std::string& status) {
  sight.exit = exit_file(sight.rank, status, status == "ok" ? 0 : 1);
  return sight;
}
template <typename Value, typename Given>
RankSight with(RankSight sight, Value RankSight::*member, const Given& value) {
  sight.*member = value;
  return sight;
}

TEST(Diagnosis, NamesTheRankThatDelayedTheOthers) {
  const RankSight done = ended(sight(0, "0STEP", -1), "ok");
  const RankSight killed_afterwards = with(done, &RankSight::signal, 15);
  const RankSight traced = with(with(sight(0, "0F0", -1), &RankSight::stopped, true), &RankSight::traced, true);
  const RankSight hangs = with(sight(0, "0RECV_B0", 1), &RankSight::still, true);
  const RankSight waits = sight(1, "1RECV_F0", 2), polls = sight(2, "2RECV_F0", 0);
  const RankSight failed = ended(sight(0, "0F0", -1), "error"), failed_too = ended(sight(1, "1F0", -1), "error");
  struct Case {
    const char* name;
    std::vector<RankSight> ranks;
    std::optional<std::string> limit;
    std::optional<std::int64_t> culprit;
    std::string words;  ///< a part
  };
  const std::vector<Case> cases = {
      {"whom all wait for through others",
       {sight(0, "0RECV_B1", 1), sight(1, "1RECV_B1", 2), sight(2, "2F3", -1)},
       "60 s",
       2,
       "the time limit of 60 s passed: rank 2 made no progress; it was last seen in 2F3 of step 1; ranks 0 and 1 "
       "waited "
       "for it"},
      {"a circle",
       {sight(0, "0SEND_F1", 1), sight(1, "1SEND_B0", 0), sight(2, "2RECV_F0", 1)},
       "60 s",
       0,
       "ranks 0 and 1 wait for each other: rank 0 in 0SEND_F1 of step 1 for rank 1, rank 1 in 1SEND_B0 of step 1 for "
       "rank 0"},
      {"who waits for a circle is not part of it",
       {sight(0, "0RECV_B0", 1), sight(1, "1F0", 2), sight(2, "2B0", 1)},
       "60 s",
       1,
       "ranks 1 and 2 wait for each other"},
      {"who left early",
       {sight(0, "0RECV_B3", 1), gone(sight(1, "1STEP", -1), 1)},
       std::nullopt,
       1,
       "ended without writing exit.json"},
      {"not who ended well", {done, sight(1, "1F0", -1)}, "60 s", 1, ""},
      {"nobody without grounds", {done}, "60 s", std::nullopt, ""},
      {"not who reported, for the signal that ended it afterwards",
       {killed_afterwards, gone(sight(1, "1F0", -1), 1)},
       std::nullopt,
       1,
       ""},
      {"a peer that is no rank", {sight(0, "0RECV_B0", 7)}, "60 s", std::nullopt, ""},
      {"the first of two that held up as many",
       {with(sight(0, "0F0", -1), &RankSight::step, 0), sight(1, "1F0", -1)},
       "60 s",
       0,
       "in 0F0 of step 0"},
      {"all that waited",
       {sight(0, "0F0", -1), sight(1, "1RECV_F0", 0), sight(2, "2RECV_F0", 1), sight(3, "3RECV_F0", 2)},
       "60 s",
       0,
       "; ranks 1, 2 and 3 waited for it"},
      {"who hangs in its wait for rank 0",
       {sight(0, "0RECV_B0", 1), with(sight(1, "1RECV_F0", 0), &RankSight::still, true)},
       "60 s",
       1,
       "rank 1 hangs: it stopped polling for what it awaits from rank 0, in 1RECV"},
      {"a tracer is no signal", {traced}, "60 s", 0, "rank 0 was stopped by a tracer in 0F0"},
      {"at whom most chains end", {sight(0, "0F0", -1), sight(1, "1F0", -1), sight(2, "2RECV_F0", 1)}, "60 s", 1, ""},
      {"who waits for one that ended well held nobody up",
       {done, sight(1, "1RECV_F0", 0)},
       "60 s",
       std::nullopt,
       "the time limit of 60 s passed: the ranks did not wait for any particular rank"},
      {"who gave up",
       {sight(0, "0RECV_B0", 1), ended(sight(1, "1F0", -1), "timeout")},
       std::nullopt,
       1,
       "a wait timed out: rank 1 made no progress"},
      {"a known signal more than anything else",
       {gone(sight(0, "0RECV_B0", 1), 1), gone(with(sight(1, "1B0", -1), &RankSight::signal, 9), 2)},
       std::nullopt,
       1,
       "rank 1 was killed by signal 9 (SIGKILL)"},
      {"an error more than those ended because of it",
       {gone(sight(0, "0RECV_B0", 1), 1), ended(sight(1, "1F2", -1), "error")},
       std::nullopt,
       1,
       "exit code 1"},
      {"at a deadline who was waited for, not who reported",
       {ended(sight(0, "0RECV_B3", 1), "timeout"), with(sight(1, "1B3", -1), &RankSight::stopped, true)},
       std::nullopt,
       1,
       "a wait timed out: rank 1 was stopped (SIGSTOP) in 1B3 of step 1; rank 0 waited for it"},
      {"the first that left", {gone(sight(0, "0RECV_B0", 1), 2), gone(sight(1, "1F0", -1), 1)}, std::nullopt, 1, ""},
      {"none of two that left at once",
       {gone(sight(0, "0RECV_B0", 1), 1), gone(sight(1, "1F0", -1), 1)},
       std::nullopt,
       1,
       "rank 1 made no progress"},
      {"the first that left after those that ended well",
       {gone(done, 1), gone(sight(1, "1F0", -1), 2), gone(sight(2, "2F0", -1), 3)},
       std::nullopt,
       1,
       "rank 1 ended without writing exit.json"},
      {"who has gone is not blamed for that when the time limit passed",
       {gone(sight(0, "0F0", -1), 1), sight(1, "1RECV_F0", 0)},
       "60 s",
       0,
       "rank 0 made no progress"},
      {"who alone does not poll", {hangs, waits, polls}, "60 s", 0, "rank 0 hangs"},
      {"nobody where two do not poll",
       {hangs, with(waits, &RankSight::still, true), polls},
       "60 s",
       0,
       "wait for each other"},
      {"where none polls nothing can be told", {hangs, sight(1, "1F0", -1)}, "60 s", 1, ""},
      {"of several errors the first rank's", {failed, failed_too}, std::nullopt, 0, ""},
      {"of several errors that the launcher names the first rank's",
       {with(failed, &RankSight::failed_first, true), with(failed_too, &RankSight::failed_first, true)},
       std::nullopt,
       0,
       ""},
      {"without a deadline none passed",
       {done, sight(1, "1F0", -1)},
       std::nullopt,
       1,
       "rank 1 made no progress; it was last seen in 1F0 of step 1"}};
  for (const auto& [name, ranks, limit, culprit, words] : cases) {
    const auto diagnosis = diagnose(ranks, limit);
    EXPECT_EQ(diagnosis.culprit, culprit) << name;
    EXPECT_THAT(diagnosis.words, HasSubstr(words)) << name;
    EXPECT_EQ(diagnosis.words.find("passed") != std::string::npos, limit || words.starts_with("a deadline")) << name;
  }
}

TEST(Diagnosis, NoRankWaitedForItself) {
  auto stopped = sight(0, "0RECV_B0", 1);
  stopped.stopped = true;
  EXPECT_THAT(diagnose({stopped, sight(1, "1F0", -1)}, "60 s").words, ::testing::Not(HasSubstr("waited for it")));
}

TEST(Diagnosis, ARanksProgressIsReported) {
  const auto words = [](bool seen, const std::string& action, std::int64_t step) {
    auto rank = sight(0, action, -1);
    rank.seen = seen;
    rank.step = step;
    rank.signal = 9;
    return diagnose({rank}, std::nullopt).words;
  };

  EXPECT_EQ(words(false, "", -1), "rank 0 was killed by signal 9 (SIGKILL) before its first heartbeat");
  EXPECT_EQ(words(true, "", 0), "rank 0 was killed by signal 9 (SIGKILL) before its first action");
  EXPECT_EQ(words(true, "", 1), "rank 0 was killed by signal 9 (SIGKILL) before its first action of step 1");
  auto died_in_an_update = sight(0, "", -1);
  died_in_an_update.seen = false;
  died_in_an_update.found = true;
  died_in_an_update.signal = 9;
  EXPECT_EQ(diagnose({died_in_an_update}, std::nullopt).words,
            "rank 0 was killed by signal 9 (SIGKILL) at an unknown action (its heartbeat does not show it)");
  EXPECT_EQ(words(true, "0F1", -1), "rank 0 was killed by signal 9 (SIGKILL) in 0F1");
  EXPECT_EQ(words(true, "0F1", 0), "rank 0 was killed by signal 9 (SIGKILL) in 0F1 of step 0");
}

/// Ranks whose runs have ended well and whose processes have not.
std::vector<RankSight> that_are_behind_their_runs(std::int64_t ranks) {
  std::vector<RankSight> sights;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    sights.push_back(sight(rank, std::to_string(rank) + "STEP", -1));
    sights.back().found = true;
    sights.back().exit = exit_file(rank, "ok", 0);
  }
  return sights;
}

TEST(DiagnosisAfterTheRun, NamesTheProcessesThatDoNotEnd) {
  const auto expect = [](const std::vector<RankSight>& ranks, std::optional<std::int64_t> culprit,
                         const std::string& words) {
    const auto diagnosis = diagnose_after_the_run(ranks, true);
    EXPECT_EQ(diagnosis.culprit, culprit) << words;
    EXPECT_EQ(diagnosis.words, words);
  };
  auto ranks = that_are_behind_their_runs(3);
  ranks[2].still = true;
  expect(ranks, 2, "rank 2's process did not end");  // which does not look for the others
  ranks[1].still = true;
  expect(ranks, std::nullopt, "the processes of ranks 0, 1 and 2 did not end");
  ranks[0].gone = ranks[2].gone = true;
  expect(ranks, 1, "rank 1's process did not end");
  ranks[1].found = false;
  expect(ranks, std::nullopt, "");
  auto stopped = that_are_behind_their_runs(2);
  stopped[0].still = true;
  stopped[1].stopped = true;
  expect(stopped, 1, "rank 1 was stopped (SIGSTOP) then");
}

TEST(DiagnosisAfterTheRun, NamesTheKilledRankOrTheLaunchersRank) {
  auto ranks = that_are_behind_their_runs(3);
  EXPECT_EQ(diagnose_after_the_run(ranks, false).words, "");
  EXPECT_FALSE(diagnose_after_the_run(ranks, false).culprit);

  ranks[1].failed_first = true;
  EXPECT_EQ(diagnose_after_the_run(ranks, false).culprit, 1);
  EXPECT_EQ(diagnose_after_the_run(ranks, false).words, "rank 1's process ended unexpectedly");

  ranks[2].signal = 9;
  EXPECT_EQ(diagnose_after_the_run(ranks, false).culprit, 2);
  EXPECT_EQ(diagnose_after_the_run(ranks, false).words, "rank 2 was killed by signal 9 (SIGKILL) then");
}

TEST(Diagnosis, ASignalThatARankWroteItselfIsNamed) {
  auto died = sight(1, "1F0", -1);
  died.exit = ExitFile{1, "signal", 139, "SIGSEGV", ""};
  EXPECT_THAT(diagnose({sight(0, "0F0", -1), died}, std::nullopt).words,
              HasSubstr("rank 1 ended by signal SIGSEGV in"));
  died.exit->signal.reset();
  EXPECT_THAT(diagnose({died}, std::nullopt).words, HasSubstr("rank 1 ended by signal (unnamed) in"));
}

TEST(Diagnosis, NumbersThatNoRankOrSignalHasNameNoDeath) {
  const auto death = [](const std::string& rank, const std::string& signal) {
    return death_in_launcher_output("process rank " + rank + " with PID 1 on node n exited on signal " + signal);
  };
  EXPECT_TRUE(death("3", "9"));
  EXPECT_FALSE(death("99999999999999999999", "9"));
  EXPECT_FALSE(death("3", "99999999999999999999"));
}

TEST(Diagnosis, NamesTheSignalsOfLinux) {
  for (int signal = 1; signal < 32; ++signal) {
    EXPECT_THAT(signal_text(signal), ::testing::MatchesRegex(std::to_string(signal) + " .SIG[A-Z0-9]+."));
  }
  EXPECT_EQ(signal_text(9), "9 (SIGKILL)");
  EXPECT_EQ(signal_text(11), "11 (SIGSEGV)");
  EXPECT_EQ(signal_text(200), "200");
  EXPECT_EQ(exit_code_text(139), "139 (128 + 11, SIGSEGV)");
  EXPECT_EQ(exit_code_text(255), "255");
  EXPECT_EQ(exit_code_text(3), "3");
}

/// torch 2.11.
const char* const torchrun_words = R"(torch.distributed.elastic.multiprocessing.errors.ChildFailedError: 
======================================================
train.py FAILED
------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-22_19:47:50
  host      : localhost
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 4275)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 4275
------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-22_19:47:50
  host      : localhost
  rank      : 1 (local_rank: 1)
  exitcode  : -9 (pid: 4276)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 4276
======================================================
)";

TEST(Diagnosis, ReadsTheFirstThatFailedFromTorchrunsTable) {
  const auto killed = death_in_launcher_output(torchrun_words);
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->rank, 1);
  EXPECT_EQ(killed->signal, 9);

  std::string words = torchrun_words;
  words.replace(words.rfind("-9 (pid"), 2, "1");
  const auto raised = death_in_launcher_output(words);
  ASSERT_TRUE(raised);
  EXPECT_EQ(raised->rank, 1);
  EXPECT_EQ(raised->signal, 0);
}

TEST(Diagnosis, ReadsWhoEndedFirstFromMpirunsWords) {
  const auto with_a_code = death_in_launcher_output(
      "mpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be terminated. "
      "The first process to do so was:\n\n  Process name: [[26338,1],12]\n  Exit code:    77\n----\n");
  ASSERT_TRUE(with_a_code);
  EXPECT_EQ(with_a_code->rank, 12);
  EXPECT_EQ(with_a_code->signal, 0);

  const auto without_finalize = death_in_launcher_output(
      "mpirun has exited due to process rank 3 with PID 0 on\nnode host-7 exiting improperly. There are three reasons");
  ASSERT_TRUE(without_finalize);
  EXPECT_EQ(without_finalize->rank, 3);
  EXPECT_EQ(without_finalize->signal, 0);
}

// A regular expression calls itself for each character that it takes.
TEST(Diagnosis, RanksOutputMayResembleALaunchersAndBeLong) {
  const std::string long_word(4 << 20, 'x');
  const std::string death = "process rank 2 with PID 0 on node n exited on signal 9 (Killed).";
  for (const std::string begin :
       {"process rank 1 with PID 1 on node ", "Root Cause (first observed failure): rank : 1 ", "process rank "}) {
    EXPECT_FALSE(death_in_launcher_output(begin + long_word)) << begin;
    EXPECT_FALSE(death_in_launcher_output(begin + std::string(4 << 20, ' '))) << begin;
    const auto found = death_in_launcher_output(begin + long_word + death);
    ASSERT_TRUE(found) << begin;
    EXPECT_EQ(found->rank, 2);
  }
}

TEST(Diagnosis, OfSeveralErrorsTheFirstIsTheCauseAndSaysWhere) {
  auto lost = sight(0, "0F1", -1), raised = sight(1, "1F0", -1);
  lost.exit = exit_file(0, "error", 1);
  raised.exit = exit_file(1, "error", 1);
  raised.where = "train.py:12: RuntimeError: no data";
  raised.failed_first = true;

  const auto diagnosis = diagnose({lost, raised}, std::nullopt);

  EXPECT_EQ(diagnosis.culprit, 1);
  EXPECT_EQ(diagnosis.words.find("rank 1 ended with an error (exit code 1) at train.py:12: RuntimeError: no data, in "),
            0U)
      << diagnosis.words;
}

TEST(Diagnosis, ReadsRankAndSignalFromMpirunsWords) {
  const auto death = death_in_launcher_output(
      "----\nmpirun noticed that process rank 12 with PID 0 on node host-7 exited on signal 11 (Segmentation "
      "fault).\n----\n");

  ASSERT_TRUE(death);
  EXPECT_EQ(death->rank, 12);
  EXPECT_EQ(death->signal, 11);
  EXPECT_FALSE(death_in_launcher_output("mpirun was happy"));
}

}  // namespace
}  // namespace plumbline
