// SPDX-License-Identifier: BSD-3-Clause
// How much of a step's time goes into watching it.
#pragma once

#include <chrono>

namespace plumbline {

/// Started around each call of the step's observers; read from within the last of them.
class RecordingClock {
 public:
  void restart() { spent_ = {}; }
  void start() { since_ = Clock::now(); }
  void stop() { spent_ += Clock::now() - since_; }

  /// Since restart(), the call that is running included; called between start() and stop().
  double seconds() const { return std::chrono::duration<double>(spent_ + (Clock::now() - since_)).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::duration spent_{};
  Clock::time_point since_{};
};

}  // namespace plumbline
