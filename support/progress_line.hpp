// SPDX-License-Identifier: BSD-3-Clause
// A progress line: rewritten in place on a terminal, plain lines at intervals in a log.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>

namespace plumbline {

/// Progress of a training after a step. Absent values are left out of the line.
struct StepProgress {
  std::int64_t done = 0, total = 0;            ///< steps
  std::optional<double> loss = {};             ///< nullopt if the rank does not own it
  std::optional<double> evaluation_loss = {};  ///< the most recent one
  std::optional<double> learning_rate = {};
  std::int64_t step_tokens = 0;       ///< tokens of one step
  std::optional<double> epochs = {};  ///< passes through the data so far
};

/// "step 3/5  loss 5.4321  evaluation 5.6789  rate 1.00e-03  epoch 0.25  12.3k tokens/s  remaining 4 s". Writes to
/// `out`, by default stderr. Thread-safe.
class ProgressLine {
 public:
  /// `first`: in a resumed run, the number of steps before this process.
  explicit ProgressLine(std::FILE* out = stderr, std::int64_t first = 0);
  /// Ends the line, so that later output, such as an error, starts on a new one.
  ~ProgressLine() { finish(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void step(const StepProgress& now);
  /// Free text in place of a step (a sweep's cases, the rank that this one waits for). On a terminal truncated to one
  /// line, unless it is the last. `line`: printable, but for its colors (support/plain_text.hpp).
  void text(const std::string& line, bool last);
  void finish();

 private:
  std::mutex mutex_;
  std::FILE* out_;
  std::int64_t first_;
  bool terminal_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point shown_;
};

/// The text of one step line, independent of the clock, for tests.
std::string step_line(const StepProgress& now, double seconds, std::int64_t first = 0);

}  // namespace plumbline
