// SPDX-License-Identifier: BSD-3-Clause
// A signal asks a run to save and stop, and does not terminate the process.
#include "training/checkpoint/save_signal.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace plumbline {
namespace {

struct sigaction action_of(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action;
}
bool ends_the_process(int signal) {
  return action_of(signal).sa_handler == SIG_DFL;
}

TEST(SaveSignal, EachSignalSetsItInEveryKindOfJob) {
  for (const bool one_process : {true, false}) {
    for (const int signal : {SIGUSR1, SIGINT, SIGTERM}) {
      const SaveSignal save(one_process);
      ASSERT_FALSE(ends_the_process(signal)) << signal;
      EXPECT_FALSE(save.asked());

      std::raise(signal);

      EXPECT_TRUE(save.asked()) << signal;
      EXPECT_NE(action_of(signal).sa_flags & SA_RESTART, 0) << "system calls must not fail with EINTR";
    }
  }
}

/// A process that gets one signal after another.
void after_signals(bool one_process, const std::vector<int>& signals, std::chrono::milliseconds pause = {}) {
  const SaveSignal save(one_process);
  for (const int signal : signals) {
    std::raise(signal);
    std::this_thread::sleep_for(pause);
  }
  std::_Exit(save.asked() ? 7 : 0);
}

TEST(SaveSignal, ASecondSignalOfTheUserEndsTheProcess) {
  using ::testing::ExitedWithCode;
  using ::testing::KilledBySignal;
  const std::string note = "saves after this step and stops; a second signal ends it at once";
  EXPECT_EXIT(after_signals(true, {SIGINT, SIGINT}), KilledBySignal(SIGINT), note);
  EXPECT_EXIT(after_signals(true, {SIGINT, SIGTERM}), KilledBySignal(SIGTERM), note);
  EXPECT_EXIT(after_signals(true, {SIGUSR1, SIGUSR1, SIGTERM}), ExitedWithCode(7), note)
      << "a scheduler warns first and sends SIGTERM later";
}

TEST(SaveSignal, ALauncherMayForwardASignalTwice) {
  using ::testing::ExitedWithCode;
  using ::testing::KilledBySignal;
  EXPECT_EXIT(after_signals(false, {SIGINT, SIGINT, SIGTERM}), ExitedWithCode(7), "^$");
  EXPECT_EXIT(after_signals(false, {SIGTERM, SIGTERM}, std::chrono::milliseconds(1100)), KilledBySignal(SIGTERM), "");
}

TEST(SaveSignal, IsResetForTheNextRun) {
  std::map<int, void (*)(int)> before;  // a shell ignores SIGINT for programs in its background
  for (const int signal : {SIGUSR1, SIGINT, SIGTERM}) before[signal] = action_of(signal).sa_handler;
  {
    const SaveSignal first(/*one_process=*/true);
    ASSERT_FALSE(ends_the_process(SIGUSR1));
    std::raise(SIGUSR1);
  }
  for (const int signal : {SIGUSR1, SIGINT, SIGTERM}) EXPECT_EQ(action_of(signal).sa_handler, before[signal]) << signal;

  const SaveSignal second(/*one_process=*/true);

  EXPECT_FALSE(second.asked());
}

}  // namespace
}  // namespace plumbline
