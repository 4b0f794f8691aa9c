// SPDX-License-Identifier: BSD-3-Clause
// A line a case: rewritten while it runs on a terminal, plain lines in a log.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/progress_line.hpp"

namespace plumbline {

/// Estimates the remaining time of several runs from the durations of finished ones. The estimated end moves back only
/// if a run takes longer than expected.
class RemainingTime {
 public:
  /// `work`: total work of all runs, in any unit. Times are seconds since the start.
  explicit RemainingTime(double work) : work_(work) {}

  void begin(double now_s, double work);
  void end(double now_s, double work);
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

class SweepProgress {
 public:
  using Now = std::function<std::chrono::steady_clock::time_point()>;
  /// `work`: what all runs weigh together, in any unit. `now`: the clock; tests have one of their own.
  SweepProgress(std::FILE* out, std::size_t runs, double work, Now now = std::chrono::steady_clock::now);

  void begin(const std::string& what, double work);
  /// While it runs: state, elapsed, estimate. In a log, only about a run that takes long.
  void tick();
  /// The run that `begin` named has ended; its line is not written yet (its verdict may follow). Without a name: the
  /// only one.
  void end(const std::string& what = "");
  /// A lasting line, or several.
  void line(const std::string& text);
  /// The line of a run: "[12/74] stories260k-adamw-1f1b-w4  1.9 s  holds", and `why` below it.
  void say(const std::string& id, const std::string& state, double seconds, const std::string& why = "");
  /// A kept result of an earlier sweep: not run now.
  void skip(double work);

 private:
  double seconds_since(std::chrono::steady_clock::time_point start) const;
  double elapsed_s() const { return seconds_since(start_); }
  Now now_;
  bool terminal_;
  std::FILE* out_;
  ProgressLine progress_;
  struct ActiveRun {
    std::string what;
    double work;
    std::chrono::steady_clock::time_point start;
  };
  std::chrono::steady_clock::time_point start_;
  std::vector<ActiveRun> running_;  ///< the one that has run longest first
  std::size_t runs_, begun_ = 0, said_ = 0;
  RemainingTime remaining_;
};

/// "about 40 s left", "about 3 min left".
std::string estimate_text(double left_s);

}  // namespace plumbline
