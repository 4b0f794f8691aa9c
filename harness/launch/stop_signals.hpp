// SPDX-License-Identifier: BSD-3-Clause
// Turns Ctrl-C into a condition that is polled, so that it never interrupts a write.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>

namespace plumbline {

/// While it lives, SIGINT, SIGTERM, SIGQUIT, SIGHUP and SIGPIPE (and SIGCHLD, to wake up when a child ends) are blocked
/// in this thread and in threads created later; they stay pending until `wait` takes them. This needs no signal handler
/// and no global flag. Create it before any thread; any thread may then wait and ask, except for SIGPIPE, which is
/// pending only for the thread that wrote. If the parent process ignores SIGHUP (nohup) or SIGPIPE, it remains ignored;
/// an ignored SIGINT, as in a shell's background, does not, because it is then sent on purpose. SIGCHLD is not ignored
/// meanwhile, which would discard the children's status.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Sleeps until a signal or for `at_most`; returns true if a stop has been requested, now or earlier.
  bool wait(std::chrono::milliseconds at_most);
  /// True if a stop has been requested; does not sleep.
  bool stop_requested();
  /// "SIGINT": the first such signal; empty if there was none.
  const char* name() const;

 private:
  void note(int signal);
  sigset_t watched_;
  sigset_t before_;
  struct sigaction child_before_ {};
  std::atomic<int> stop_signal_ = 0;
};

}  // namespace plumbline
