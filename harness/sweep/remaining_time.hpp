// SPDX-License-Identifier: BSD-3-Clause
// How long work of several runs still takes, from how long those before took: an end that moves away only where a run
// took longer than it should have.
#pragma once

#include <optional>

namespace plumbline {

class RemainingTime {
 public:
  /// `work`: what all runs weigh together, in any unit. Times are seconds since the start.
  explicit RemainingTime(double work) : work_(work) {}

  void begin(double now_s, double work);
  /// Of one run where several are under way: its work; else all that runs.
  void end(double now_s, std::optional<double> work = std::nullopt);
  /// A result that is there already.
  void skip(double work) { work_ -= work; }
  /// Nothing before a first run has ended, or when none is left.
  std::optional<double> left_s(double now_s);

 private:
  double work_, done_ = 0, running_ = 0;
  double began_s_ = 0;
  double spent_s_ = 0;  ///< until the last run ended, what lay between runs among it
  double start_s_ = 0;
  bool started_ = false;
  std::optional<double> end_s_;  ///< as last told
};

}  // namespace plumbline
