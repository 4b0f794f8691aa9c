// SPDX-License-Identifier: BSD-3-Clause
// Measures the part of a step's time that recording takes.
#pragma once

#include <chrono>

namespace plumbline {

/// Started and stopped around each call of the step's observers; read within the last of them.
class RecordingClock {
 public:
  void restart() { spent_ = {}; }
  void start() { since_ = Clock::now(); }
  void stop() { spent_ += Clock::now() - since_; }

  /// Since restart(), including the current call; call between start() and stop().
  double seconds() const { return std::chrono::duration<double>(spent_ + (Clock::now() - since_)).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::duration spent_{};
  Clock::time_point since_{};
};

}  // namespace plumbline
