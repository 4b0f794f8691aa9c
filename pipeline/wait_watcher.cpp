// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/wait_watcher.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "record/progress_page.hpp"
#include "record/wait_chain.hpp"
#include "training/action_log.hpp"

namespace plumbline {

WaitWatcher::WaitWatcher(std::filesystem::path record, std::int64_t rank, ProgressLine& line,
                         std::chrono::milliseconds patience)
    : record_(std::move(record)), rank_(rank), line_(line), patience_(patience), thread_([this] { watch(); }) {}

WaitWatcher::~WaitWatcher() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void WaitWatcher::watch() {
  const auto between = std::min(patience_, std::chrono::milliseconds(1000));
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, between, [this] { return end_; })) {
    const auto now = read_progress(record_, rank_);
    if (!now || now->peer < 0) continue;
    const auto waited = std::chrono::nanoseconds(monotonic_ns() - static_cast<std::int64_t>(now->monotonic_ns));
    if (waited < patience_) continue;
    line_.text("step " + std::to_string(now->step + 1) + ": waiting for rank " + std::to_string(now->peer) + ", " +
                   std::to_string(std::chrono::duration_cast<std::chrono::seconds>(waited).count()) + " s in " +
                   now->action + waits_behind(record_, rank_),
               false);
  }
}

}  // namespace plumbline
