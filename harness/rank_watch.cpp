#include "harness/rank_watch.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "support/error.hpp"
#include "support/json.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

struct ProgressPage {
  std::int64_t step = -1;
  std::int32_t peer = -1;
  std::int32_t pid = 0;
  std::string action;
};

/// The progress page of docs/record-format.md; nothing when there is none yet, or when it is being written.
std::optional<ProgressPage> read_progress_page(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  char bytes[4096];
  if (!in.read(bytes, sizeof bytes) || std::memcmp(bytes, "PLMBPRG1", 8) != 0) return std::nullopt;
  std::uint64_t sequence = 0;
  std::memcpy(&sequence, bytes + 8, sizeof sequence);
  if (sequence % 2 != 0) return std::nullopt;
  ProgressPage page;
  std::memcpy(&page.step, bytes + 16, sizeof page.step);
  std::memcpy(&page.peer, bytes + 32, sizeof page.peer);
  std::memcpy(&page.pid, bytes + 56, sizeof page.pid);
  page.action.assign(bytes + 60, strnlen(bytes + 60, 64));
  return page;
}

/// Nothing when there is none, or none that can be read: a rank that died while writing it has no exit file.
std::optional<ExitFile> read_exit(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / "exit.json", ignored)) return std::nullopt;
  try {
    const Json json = read_json(folder / "exit.json");
    ExitFile exit;
    exit.rank = json.at("rank").get<std::int64_t>();
    exit.status = json.at("status").get<std::string>();
    exit.code = json.at("code").get<int>();
    if (json.contains("signal") && json.at("signal").is_string()) exit.signal = json.at("signal").get<std::string>();
    exit.last_action = json.value("last_action", "");
    return exit;
  } catch (const Error&) {
    return std::nullopt;
  } catch (const Json::exception&) {
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
      const auto page = read_progress_page(rank.folder / "progress");
      // A page may come from another machine (a host file): its process id then means nothing here.
      if (!page || page->pid <= 0 || !tree_.contains(page->pid)) continue;
      rank.pid = page->pid;
    }
    const auto state = process_state(rank.pid);
    rank.stopped = state && state->state == 'T';
    if (const auto peak = process_peak_bytes(rank.pid)) rank.peak_bytes = std::max(rank.peak_bytes, *peak);
    if (state && state->alive()) continue;
    rank.gone = true;
    rank.gone_order = glances_with_losses_ + 1;
    lost_some = true;
    const auto exit = read_exit(rank.folder);
    if (!exit || exit->status != "ok") trouble_ = true;
  }
  if (lost_some) ++glances_with_losses_;
}

bool RankWatch::any_seen() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const Rank& rank) { return rank.pid != 0 || fs::exists(rank.folder); });
}

std::vector<RankSight> RankWatch::sights() const {
  std::vector<RankSight> sights;
  for (std::size_t index = 0; index < ranks_.size(); ++index) {
    const Rank& rank = ranks_[index];
    RankSight sight;
    sight.rank = static_cast<std::int64_t>(index);
    sight.gone = rank.gone;
    sight.gone_order = rank.gone_order;
    sight.stopped = rank.stopped;
    sight.exit = read_exit(rank.folder);
    if (const auto page = read_progress_page(rank.folder / "progress")) {
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

}  // namespace plumbline
