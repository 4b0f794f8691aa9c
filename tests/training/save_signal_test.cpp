// SPDX-License-Identifier: BSD-3-Clause
// A signal asks a run to save and stop, and does not terminate the process.
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

TEST(SaveSignal, IsSetByEitherSignal) {
  for (const int signal : {SIGUSR1, SIGTERM}) {
    const SaveSignal save(/*one_process=*/true);
    ASSERT_FALSE(ends_the_process(signal)) << signal;
    EXPECT_FALSE(save.asked());

    std::raise(signal);

    EXPECT_TRUE(save.asked()) << signal;
  }
}

TEST(SaveSignal, IgnoresSigtermWithSeveralProcesses) {
  const SaveSignal save(/*one_process=*/false);

  EXPECT_FALSE(ends_the_process(SIGUSR1));
  EXPECT_TRUE(ends_the_process(SIGTERM)) << "mpirun kills a moment later whoever has not ended";
}

TEST(SaveSignal, MayRepeat) {
  const SaveSignal save(/*one_process=*/true);
  ASSERT_FALSE(ends_the_process(SIGUSR1));

  std::raise(SIGUSR1);

  EXPECT_FALSE(ends_the_process(SIGUSR1)) << "a scheduler may send it twice";
  EXPECT_NE(action_of(SIGUSR1).sa_flags & SA_RESTART, 0) << "no call of the system ends with EINTR";
}

TEST(SaveSignal, IsResetForTheNextRun) {
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
