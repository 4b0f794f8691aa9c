// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/diagnosis.hpp"

#include <gmock/gmock.h>

#include "support/signals.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

TEST(Diagnosis, IgnoresNumbersThatNoRankOrSignalHas) {
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

/// Output of torch 2.11.
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

TEST(Diagnosis, ReadsTheFirstFailedRankFromTorchrunsTable) {
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

TEST(Diagnosis, ReadsTheFirstEndedRankFromMpirunsOutput) {
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

// A regular expression recurses for each character that it matches.
TEST(Diagnosis, AcceptsLongOutputOfRanksThatResemblesALaunchers) {
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

TEST(Diagnosis, ReadsRankAndSignalFromMpirunsOutput) {
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
