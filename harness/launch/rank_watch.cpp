#include "harness/launch/rank_watch.hpp"

#include <algorithm>

#include "record/exit_file.hpp"
#include "record/progress_page.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// Whoever ends a job lets its stopped ranks go on first: one that was stopped until just now was so when it mattered.
constexpr std::chrono::seconds still_stopped{3};

/// Nothing when there is none, or none that can be read: a rank that died while writing it has no exit file.
std::optional<ExitFile> exit_of(const fs::path& folder) {
  try {
    return read_exit_file(folder / "exit.json");
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace

RankWatch::RankWatch(const fs::path& record, std::int64_t ranks, const ProcessTree& tree) : tree_(tree) {
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    ranks_.emplace_back();
    ranks_.back().folder = record / ("rank-" + std::to_string(rank));
  }
}

void RankWatch::glance() {
  bool lost_some = false;
  for (auto& rank : ranks_) {
    if (rank.gone) continue;
    if (rank.pid == 0) {
      const auto page = read_progress(rank.folder / "progress");
      // A page may come from another machine (a host file): its process id then means nothing here.
      if (!page || page->pid <= 0 || !tree_.contains(page->pid)) continue;
      rank.pid = page->pid;
    }
    const auto state = process_state(rank.pid);
    if (state && state->state == 'T') rank.last_stopped = std::chrono::steady_clock::now();
    if (const auto memory = process_memory(rank.pid)) {
      rank.peak_bytes = std::max(rank.peak_bytes, memory->peak);
      rank.private_bytes = std::max(rank.private_bytes, memory->private_now);
    }
    if (state && state->alive()) continue;
    rank.gone = true;
    rank.gone_order = glances_with_losses_ + 1;
    lost_some = true;
    const auto exit = exit_of(rank.folder);
    if (!exit || exit->status != "ok") trouble_ = true;
  }
  if (lost_some) ++glances_with_losses_;
}

bool RankWatch::any_seen() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const Rank& rank) { return rank.pid != 0 || fs::exists(rank.folder); });
}

bool RankWatch::all_seen() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.pid != 0; });
}

bool RankWatch::is_rank(pid_t pid) const {
  return std::any_of(ranks_.begin(), ranks_.end(), [&](const Rank& rank) { return rank.pid == pid; });
}

std::vector<RankSight> RankWatch::sights() const {
  std::vector<RankSight> sights;
  for (std::size_t index = 0; index < ranks_.size(); ++index) {
    const Rank& rank = ranks_[index];
    RankSight sight;
    sight.rank = static_cast<std::int64_t>(index);
    sight.gone = rank.gone;
    sight.gone_order = rank.gone_order;
    sight.stopped = rank.last_stopped && std::chrono::steady_clock::now() - *rank.last_stopped < still_stopped;
    sight.exit = exit_of(rank.folder);
    if (const auto page = read_progress(rank.folder / "progress")) {
      sight.seen = true;
      sight.action = page->action;
      sight.step = page->step;
      sight.peer = page->peer;
    }
    sights.push_back(std::move(sight));
  }
  return sights;
}

std::vector<std::int64_t> RankWatch::peak_bytes() const {
  std::vector<std::int64_t> peaks;
  for (const auto& rank : ranks_) {
    if (rank.peak_bytes == 0) return {};
    peaks.push_back(rank.peak_bytes);
  }
  return peaks;
}

std::vector<std::int64_t> RankWatch::private_bytes() const {
  std::vector<std::int64_t> most;
  if (peak_bytes().empty()) return most;
  for (const auto& rank : ranks_) most.push_back(rank.private_bytes);
  return most;
}

}  // namespace plumbline
