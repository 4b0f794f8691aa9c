// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/stop_signals.hpp"

#include <ctime>

#include "support/signals.hpp"

namespace plumbline {
namespace {

/// A blocked signal stays pending, even if it is ignored.
bool is_ignored(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

StopSignals::StopSignals() {
  sigemptyset(&watched_);
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT}) sigaddset(&watched_, signal);
  for (const int signal : {SIGHUP, SIGPIPE}) {
    if (!is_ignored(signal)) sigaddset(&watched_, signal);
  }
  sigaddset(&watched_, SIGCHLD);
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &usual, &child_before_);
  pthread_sigmask(SIG_BLOCK, &watched_, &before_);
}

StopSignals::~StopSignals() {
  // Repeated Ctrl-C may still be pending: it requested the stop that has been done, and must not kill the caller now.
  stop_requested();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  sigaction(SIGCHLD, &child_before_, nullptr);
}

/// Keeps the first signal.
void StopSignals::note(int signal) {
  int none = 0;
  if (signal > 0 && signal != SIGCHLD) stop_signal_.compare_exchange_strong(none, signal);
}

bool StopSignals::wait(std::chrono::milliseconds at_most) {
  const timespec limit{at_most.count() / 1000, (at_most.count() % 1000) * 1000000};
  const int signal = sigtimedwait(&watched_, nullptr, &limit);
  note(signal);
  return stop_signal_ != 0;
}

bool StopSignals::stop_requested() {
  const timespec now{0, 0};
  for (int signal = 0; (signal = sigtimedwait(&watched_, nullptr, &now)) > 0;) {
    note(signal);
  }
  return stop_signal_ != 0;
}

const char* StopSignals::name() const {
  return signal_name(stop_signal_);
}

}  // namespace plumbline
