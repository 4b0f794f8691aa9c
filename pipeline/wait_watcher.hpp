// SPDX-License-Identifier: BSD-3-Clause
// Shows on a rank's progress line which rank it waits for, since the waiting rank itself cannot.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "record/rank_folder.hpp"
#include "support/progress_line.hpp"

namespace plumbline {

class WaitWatcher {
 public:
  /// Polls the rank's heartbeat in the run's record until destroyed. Waits shorter than `patience` are not shown.
  /// `line` must outlive this object.
  WaitWatcher(RankFolders folders, std::int64_t rank, ProgressLine& line,
              std::chrono::milliseconds patience = std::chrono::seconds(5));
  ~WaitWatcher();
  WaitWatcher(const WaitWatcher&) = delete;
  WaitWatcher& operator=(const WaitWatcher&) = delete;

 private:
  void watch();

  RankFolders folders_;
  std::int64_t rank_;
  ProgressLine& line_;
  std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace plumbline
