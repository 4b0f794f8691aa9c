// SPDX-License-Identifier: BSD-3-Clause
// A line a cell: rewritten while it runs on a terminal, plain lines in a log.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "harness/sweep/remaining_time.hpp"
#include "support/progress_line.hpp"

namespace plumbline {

class SweepProgress {
 public:
  using Now = std::function<std::chrono::steady_clock::time_point()>;
  /// `work`: what all runs weigh together, in any unit. `now`: the clock; tests have one of their own.
  SweepProgress(std::FILE* out, std::size_t runs, double work, Now now = std::chrono::steady_clock::now);

  void begin(const std::string& what, double work);
  /// While it runs: state, elapsed, estimate. In a log, only about a run that takes long.
  void tick();
  /// The run that `begin` named has ended; its line is not written yet (its builder may follow). Without a name: the
  /// only one.
  void end(const std::string& what = "");
  /// A lasting line: "[12/74] stories260k-adamw-1f1b-w4  1.9 s  holds"; or several.
  void line(const std::string& text);
  /// A kept result of an earlier sweep: not run now.
  void skip(double work);

 private:
  double seconds_since(std::chrono::steady_clock::time_point start) const;
  double elapsed_s() const { return seconds_since(start_); }
  Now now_;
  bool terminal_;
  std::FILE* out_;
  ProgressLine progress_;
  struct Running {
    std::string what;
    double work;
    std::chrono::steady_clock::time_point start;
  };
  std::chrono::steady_clock::time_point start_;
  std::vector<Running> running_;  ///< the one that has run longest first
  std::size_t runs_, begun_ = 0;
  RemainingTime remaining_;
};

/// "about 40 s left", "about 3 min left".
std::string estimate_text(double left_s);

}  // namespace plumbline
