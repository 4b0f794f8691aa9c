// SPDX-License-Identifier: BSD-3-Clause
// A run is asked to save and to end by a signal, which ends nothing else while it is waited for.
#include "training/checkpoint/save_signal.hpp"

#include <gtest/gtest.h>

#include <csignal>

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

TEST(SaveSignal, IsAskedByEitherSignalOfOneProcess) {
  for (const int signal : {SIGUSR1, SIGTERM}) {
    const SaveSignal save(/*one_process=*/true);
    ASSERT_FALSE(ends_the_process(signal)) << signal;
    EXPECT_FALSE(save.asked());

    std::raise(signal);

    EXPECT_TRUE(save.asked()) << signal;
  }
}

TEST(SaveSignal, LeavesSigtermToRanksOfSeveralProcesses) {
  const SaveSignal save(/*one_process=*/false);

  EXPECT_FALSE(ends_the_process(SIGUSR1));
  EXPECT_TRUE(ends_the_process(SIGTERM)) << "mpirun kills a moment later whoever has not ended";
}

TEST(SaveSignal, MayComeAgain) {
  const SaveSignal save(/*one_process=*/true);
  ASSERT_FALSE(ends_the_process(SIGUSR1));

  std::raise(SIGUSR1);

  EXPECT_FALSE(ends_the_process(SIGUSR1)) << "a scheduler may send it twice";
  EXPECT_NE(action_of(SIGUSR1).sa_flags & SA_RESTART, 0) << "no call of the system ends with EINTR";
}

TEST(SaveSignal, OfOneRunIsNotThatOfTheNext) {
  {
    const SaveSignal first(/*one_process=*/true);
    ASSERT_FALSE(ends_the_process(SIGUSR1));
    std::raise(SIGUSR1);
  }
  EXPECT_TRUE(ends_the_process(SIGUSR1));
  EXPECT_TRUE(ends_the_process(SIGTERM));

  const SaveSignal second(/*one_process=*/true);

  EXPECT_FALSE(second.asked());
}

}  // namespace
}  // namespace plumbline
