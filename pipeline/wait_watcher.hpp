// SPDX-License-Identifier: BSD-3-Clause
// Says on a rank's progress line for whom it waits, while it waits: the rank itself can say nothing then.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <thread>

#include "support/progress_line.hpp"

namespace plumbline {

class WaitWatcher {
 public:
  /// Looks at the rank's progress page in the record's folder until it is destroyed; waits shorter than `patience` are
  /// not told. `line` outlives it.
  WaitWatcher(std::filesystem::path record, std::int64_t rank, ProgressLine& line,
              std::chrono::milliseconds patience = std::chrono::seconds(5));
  ~WaitWatcher();
  WaitWatcher(const WaitWatcher&) = delete;
  WaitWatcher& operator=(const WaitWatcher&) = delete;

 private:
  void watch();

  std::filesystem::path record_;
  std::int64_t rank_;
  ProgressLine& line_;
  std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace plumbline
