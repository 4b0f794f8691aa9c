// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/stop_signals.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace plumbline::testing {
namespace {

using namespace std::chrono_literals;

/// Sets a signal's disposition and restores it.
class Disposition {
 public:
  Disposition(int signal, void (*handler)(int)) : signal_(signal), before_(::signal(signal, handler)) {}
  ~Disposition() { ::signal(signal_, before_); }
  Disposition(const Disposition&) = delete;
  Disposition& operator=(const Disposition&) = delete;

 private:
  int signal_;
  void (*before_)(int);
};

TEST(StopSignals, AreSeenByPollingAndByWaiting) {
  for (const auto& [signal, name] : {std::pair(SIGINT, "SIGINT"),
                                     {SIGTERM, "SIGTERM"},
                                     {SIGHUP, "SIGHUP"},
                                     {SIGQUIT, "SIGQUIT"},
                                     {SIGPIPE, "SIGPIPE"}}) {
    const Disposition usual(signal, SIG_DFL);  // the tests' parent may ignore them, as nohup does
    StopSignals signals, waited;
    EXPECT_FALSE(signals.stop_requested());
    EXPECT_STREQ(signals.name(), "");
    ::raise(signal);
    EXPECT_TRUE(signals.stop_requested());
    EXPECT_TRUE(signals.stop_requested()) << "the answer stays";
    EXPECT_STREQ(signals.name(), name);

    EXPECT_FALSE(waited.wait(0ms)) << "the first object took the signal";
    ::raise(signal);
    EXPECT_TRUE(waited.wait(10s));
    EXPECT_TRUE(waited.wait(0ms)) << "the answer stays";
    EXPECT_STREQ(waited.name(), name);
  }
}

TEST(StopSignals, TheFirstOneIsKept) {
  StopSignals signals;
  ::raise(SIGTERM);
  signals.stop_requested();
  ::raise(SIGINT);

  EXPECT_TRUE(signals.stop_requested());

  EXPECT_STREQ(signals.name(), "SIGTERM");
}

TEST(StopSignals, AChildsEndEndsTheWaitButRequestsNoStop) {
  StopSignals signals;
  const auto begin = std::chrono::steady_clock::now();
  ::raise(SIGCHLD);
  EXPECT_FALSE(signals.wait(10s));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  ::raise(SIGCHLD);
  EXPECT_FALSE(signals.stop_requested());
  EXPECT_STREQ(signals.name(), "");
}

TEST(StopSignals, TheWaitTakesItsTimeWithoutASignal) {
  StopSignals signals;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(signals.wait(20ms));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
}

// As with nohup.
TEST(StopSignals, AnIgnoredSignalStopsNothing) {
  for (const int signal : {SIGHUP, SIGPIPE}) {
    const Disposition ignored(signal, SIG_IGN);
    StopSignals signals;
    ::raise(signal);
    EXPECT_FALSE(signals.stop_requested()) << signal;
    EXPECT_FALSE(signals.wait(0ms)) << signal;
  }
}

// A shell without job control lets background processes ignore these.
TEST(StopSignals, SignalsStopABackgroundProcess) {
  for (const int signal : {SIGINT, SIGQUIT}) {
    const Disposition ignored(signal, SIG_IGN);
    StopSignals signals;
    ::raise(signal);
    EXPECT_TRUE(signals.stop_requested()) << signal;
  }
}

// A parent that ignores SIGCHLD never learns how its children ended.
TEST(StopSignals, AChildCanBeWaitedForEvenIfSigchldWasIgnored) {
  const Disposition ignored(SIGCHLD, SIG_IGN);
  {
    const StopSignals signals;
    const pid_t child = ::fork();
    if (child == 0) ::_exit(7);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  }
  struct sigaction afterwards {};
  ::sigaction(SIGCHLD, nullptr, &afterwards);
  EXPECT_EQ(afterwards.sa_handler, SIG_IGN) << "unchanged";
}

/// How a process ends that gets these signals during a StopSignals' lifetime, and the other one, if any, afterwards.
int status_after(const std::vector<int>& while_it_lives, int afterwards) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGINT, SIG_DFL);
    {
      const StopSignals signals;
      for (const int signal : while_it_lives) ::raise(signal);
    }
    if (afterwards != 0) ::raise(afterwards);
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(StopSignals, RepeatedSignalsDoNotEndTheCallerAfterwards) {
  const int status = status_after({SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGPIPE}, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(StopSignals, TheirOldEffectReturnsAfterwards) {
  const int status = status_after({}, SIGINT);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

}  // namespace
}  // namespace plumbline::testing
