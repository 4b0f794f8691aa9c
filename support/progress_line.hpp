// SPDX-License-Identifier: BSD-3-Clause
// One line of progress: rewritten in place on a terminal, plain lines at intervals in a log.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>

namespace plumbline {

/// Where a training stands after a step. What is absent is left out of the line.
struct StepProgress {
  std::int64_t done = 0, total = 0;            ///< steps
  std::optional<double> loss = {};             ///< absent where the rank does not own it
  std::optional<double> evaluation_loss = {};  ///< the last there was
  std::optional<double> learning_rate = {};
  std::int64_t step_tokens = 0;       ///< of one step
  std::optional<double> epochs = {};  ///< gone through the data
};

/// "step 3/5  loss 5.4321  evaluation 5.6789  rate 1.00e-03  epoch 0.25  12.3k tokens/s  remaining 4 s". Writes to
/// `out` (stderr unless told). Several threads may write.
class ProgressLine {
 public:
  /// `first`: steps made before this program began, of a run that goes on.
  explicit ProgressLine(std::FILE* out = stderr, std::int64_t first = 0);
  /// What is said next, of an error say, stands on a line of its own.
  ~ProgressLine() { finish(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void step(const StepProgress& now);
  /// Free text in place of a step (the sweep's cells, whom a rank waits for). On a terminal as much of it as a line
  /// holds, where it is not the last.
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

/// The text of one step line, apart from the clock: for tests.
std::string step_line(const StepProgress& now, double seconds, std::int64_t first = 0);

}  // namespace plumbline
