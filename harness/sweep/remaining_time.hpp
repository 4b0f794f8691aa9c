// SPDX-License-Identifier: BSD-3-Clause
// Estimate of the remaining time of several runs from the durations of finished ones. The estimated end moves back only
// if a run takes longer than expected.
#pragma once

#include <optional>

namespace plumbline {

class RemainingTime {
 public:
  /// `work`: total work of all runs, in any unit. Times are seconds since the start.
  explicit RemainingTime(double work) : work_(work) {}

  void begin(double now_s, double work);
  /// `work`: that of the ended run if several are in progress; nullopt: all running work.
  void end(double now_s, std::optional<double> work = std::nullopt);
  /// Subtracts the work of an existing result.
  void skip(double work) { work_ -= work; }
  /// nullopt before the first run has ended, or if none is left.
  std::optional<double> left_s(double now_s);

 private:
  double work_, done_ = 0, running_ = 0;
  double began_s_ = 0;
  double spent_s_ = 0;  ///< until the end of the last run, including time between runs
  double start_s_ = 0;
  bool started_ = false;
  std::optional<double> end_s_;  ///< as last returned
};

}  // namespace plumbline
