#include "harness/launch/stop_signals.hpp"

#include <cerrno>
#include <ctime>

namespace plumbline {

StopSignals::StopSignals() {
  sigemptyset(&watched_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&watched_, signal);
  pthread_sigmask(SIG_BLOCK, &watched_, &before_);
}

StopSignals::~StopSignals() {
  // Second presses of Ctrl-C are still pending: they asked for the stop that has been made, and must not kill the
  // caller now.
  asked();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

/// The one that asks first is kept.
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

bool StopSignals::asked() {
  const timespec now{0, 0};
  for (int signal = 0; (signal = sigtimedwait(&watched_, nullptr, &now)) > 0;) {
    note(signal);
  }
  return stop_signal_ != 0;
}

const char* StopSignals::name() const {
  switch (stop_signal_) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "";
  }
}

}  // namespace plumbline
