// SPDX-License-Identifier: BSD-3-Clause
// A child process of a test that runs a function and then waits until it is ended.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace plumbline::testing {

/// Returns when this process, with any parent, has ended; false after 10 s.
inline bool ends_soon(pid_t pid) {
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return errno == ESRCH;  // its parent has already reaped it
  pollfd end{process, POLLIN, 0};
  const bool ended = ::poll(&end, 1, 60'000) == 1;
  ::close(process);
  return ended;
}

class ChildProcess {
 public:
  /// Returns after the child has run `prepare`; it then waits for signals.
  template <typename Prepare>
  explicit ChildProcess(Prepare prepare) {
    int ready[2] = {-1, -1};
    if (::pipe(ready) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ready[0]);
      prepare();
      [[maybe_unused]] const auto written = ::write(ready[1], "x", 1);
      ::close(ready[1]);
      while (true) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    [[maybe_unused]] const auto got = ::read(ready[0], &byte, 1);
    ::close(ready[0]);
  }
  ChildProcess() : ChildProcess([] {}) {}
  ~ChildProcess() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  /// Stops it, by a signal or by its tracer.
  void stop() const { until(SIGSTOP); }
  /// Kills it without reaping it.
  void die() const { until(SIGKILL); }

 private:
  /// Sends a signal, and returns when the kernel reports that it has stopped or ended the process. Does not use the
  /// tested code.
  void until(int signal) const {
    ::kill(pid_, signal);
    siginfo_t none;
    ::waitid(P_PID, static_cast<id_t>(pid_), &none, WSTOPPED | WEXITED | WNOWAIT);
  }

  pid_t pid_ = -1;
};

}  // namespace plumbline::testing
