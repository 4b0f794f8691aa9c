// SPDX-License-Identifier: BSD-3-Clause
// Ctrl-C as something to look at between two glances at a run, not as an interruption of whatever is being written.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>

namespace plumbline {

/// While it lives, SIGINT, SIGTERM, SIGQUIT, SIGHUP and SIGPIPE (and SIGCHLD, to wake up when a child ends) are blocked
/// in this thread and in every thread made after it; they stay pending until `wait` takes them. So no signal handler
/// and no global flag is needed. Make it before any thread; any thread may then wait and ask, but for SIGPIPE, which is
/// pending for the one alone that wrote. Where whoever started this process has told it to ignore SIGHUP (nohup) or
/// SIGPIPE, it stays ignored; that SIGINT is, as in a shell's background, does not count: who sends it there means it.
/// SIGCHLD is not ignored meanwhile, which would take away how children ended.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Sleeps until a signal comes or `at_most` is over; returns whether a stop has been asked for, now or earlier.
  bool wait(std::chrono::milliseconds at_most);
  /// Whether a stop has been asked for, without sleeping.
  bool asked();
  /// "SIGINT" of the signal that asked first; empty when none did.
  const char* name() const;

 private:
  void note(int signal);
  sigset_t watched_;
  sigset_t before_;
  struct sigaction child_before_ {};
  std::atomic<int> stop_signal_ = 0;
};

}  // namespace plumbline
