// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/wait_watcher.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "record/progress_page.hpp"
#include "record/wait_chain.hpp"
#include "support/plain_text.hpp"
#include "training/action_log.hpp"

namespace plumbline {

WaitWatcher::WaitWatcher(RankFolders folders, std::int64_t rank, ProgressLine& line, std::chrono::milliseconds patience)
    : folders_(std::move(folders)), rank_(rank), line_(line), patience_(patience), thread_([this] { watch(); }) {}

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
    const auto now = read_progress(folders_.of(rank_) / "progress");
    if (!now || now->peer < 0) continue;
    const auto waited = std::chrono::nanoseconds(monotonic_ns() - static_cast<std::int64_t>(now->monotonic_ns));
    if (waited < patience_) continue;
    line_.text(printable_lines("step " + std::to_string(now->step + 1) + ": waiting for " + folders_.name(now->peer) +
                               ", " + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(waited).count()) +
                               " s in " + now->action + waits_behind(folders_, rank_)),
               false);
  }
}

}  // namespace plumbline
