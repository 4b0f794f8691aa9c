// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/rank_watch.hpp"

#include <algorithm>
#include <set>

#include "harness/launch/launched_rank.hpp"
#include "harness/launch/mesh_places.hpp"
#include "record/exit_file.hpp"
#include "record/progress_page.hpp"
#include "record/rank_folder.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// Job managers continue stopped ranks before ending them: a rank that was stopped within this time counts as stopped.
constexpr std::chrono::seconds still_stopped{3};
/// A waiting rank makes thousands of voluntary switches in this time; one that hangs in its wait makes none.
constexpr std::chrono::seconds longest_without_switch{1};
/// Interval for scanning all processes of the tree, which takes time.
constexpr std::chrono::milliseconds between_looks_for_stopped{250};

/// nullopt if it does not exist or cannot be read: a rank that died while writing it has no exit file.
std::optional<ExitFile> exit_of(const fs::path& folder) {
  try {
    return read_exit_file(folder / "exit.json");
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// The peer of a waiting rank on another host is known from ranks that received its message, not from its heartbeat.
void apply_reported_waits(std::vector<RankSight>& sights) {
  const bool begun = std::ranges::any_of(sights, [](const RankSight& sight) { return sight.step >= 0; });
  for (RankSight& sight : sights) {
    sight.elsewhere = begun && !sight.seen && !sight.found;
    if (!sight.host.empty()) sight.peer = -1;
  }
  for (const RankSight& teller : sights) {
    if (!teller.exit) continue;
    const std::vector<std::int64_t>& chain = teller.exit->waited_for;
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
      if (chain[i] >= std::ssize(sights)) break;
      RankSight& sight = sights[static_cast<std::size_t>(chain[i])];
      if (sight.elsewhere || !sight.host.empty()) sight.peer = chain[i + 1];
    }
  }
}

}  // namespace

RankWatch::RankWatch(const fs::path& record, std::int64_t ranks, const ProcessTree& tree)
    : record_(record), tree_(tree) {
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    ranks_.emplace_back();
    ranks_.back().folder = record / rank_folder(rank);
  }
}

/// True if the heartbeat's process died before it was seen. The heartbeat may come from a container, where its process
/// id has no meaning; then no other rank's id has one either.
bool RankWatch::died_unseen(const ProgressSnapshot& page) const {
  return page.host == host_name() && !process_state(page.pid) &&
         std::ranges::any_of(ranks_, [](const Rank& rank) { return rank.pid != 0; });
}

/// A reference's command may start more ranks than requested, one per replica: these are watched, too.
void RankWatch::find_mesh() {
  if (ranks_.empty() || !ranks_.front().replica.empty() || fs::exists(ranks_.front().folder)) return;
  auto places = places_in_mesh(record_);
  if (places.size() > ranks_.size()) ranks_.resize(places.size());
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    ranks_[rank].folder = std::move(places[rank].folder);
    ranks_[rank].pipeline = std::move(places[rank].pipeline);
    ranks_[rank].replica = std::move(places[rank].replica);
  }
}

/// Identifies ranks without a heartbeat by their launcher's variables.
void RankWatch::find_stopped_ranks() {
  const auto now = std::chrono::steady_clock::now();
  if (all_seen() || now - last_scan_for_stopped_ < between_looks_for_stopped) return;
  last_scan_for_stopped_ = now;
  std::set<std::int64_t> stopped;
  for (const auto& process : tree_.living()) {
    if (process.state != 'T') continue;
    const auto rank = launched_rank(process.pid);
    if (!rank || *rank >= std::ssize(ranks_) || ranks_[static_cast<std::size_t>(*rank)].pid != 0) continue;
    stopped.insert(*rank);
    Rank& it = ranks_[static_cast<std::size_t>(*rank)];
    it.last_stopped = now;
    if (!it.stopped_since) it.stopped_since = now;
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!stopped.contains(static_cast<std::int64_t>(rank))) ranks_[rank].stopped_since.reset();
  }
}

std::chrono::steady_clock::duration RankWatch::stopped_before_its_start() const {
  const auto now = std::chrono::steady_clock::now();
  std::chrono::steady_clock::duration longest{0};
  for (const auto& rank : ranks_) {
    if (rank.pid == 0 && rank.stopped_since) longest = std::max(longest, now - *rank.stopped_since);
  }
  return longest;
}

void RankWatch::glance() {
  find_mesh();
  find_stopped_ranks();
  bool lost_some = false;
  for (auto& rank : ranks_) {
    if (rank.gone) continue;
    if (rank.pid == 0) {
      const auto page = read_progress(rank.folder / "progress");
      if (!page || page->pid <= 0 || page->of_another_host() || (!tree_.contains(page->pid) && !died_unseen(*page)))
        continue;
      rank.pid = page->pid;
      rank.last_switch = std::chrono::steady_clock::now();  // first seen now, so its time without switches begins now
    }
    const auto state = process_state(rank.pid);
    if (state) note_stop(rank, state->state);
    if (const auto switches = voluntary_switches(rank.pid)) {
      if (*switches != rank.switches) rank.last_switch = std::chrono::steady_clock::now();
      rank.switches = *switches;
    }
    if (state && state->alive()) continue;
    rank.gone = true;
    rank.gone_at = std::chrono::steady_clock::now();
    rank.gone_order = polls_with_losses_ + 1;
    lost_some = true;
    const auto exit = exit_of(rank.folder);
    if (!exit || !ended_well(*exit)) trouble_ = true;
  }
  if (lost_some) ++polls_with_losses_;
}

/// Read the heartbeat of a stopped rank while it is stopped: job managers continue it before ending it.
void RankWatch::note_stop(Rank& rank, char state) {
  if (state != 'T' && state != 't') return;
  const auto now = std::chrono::steady_clock::now();
  const bool anew = !rank.last_stopped || now - *rank.last_stopped >= still_stopped;
  if (anew || !rank.page_when_stopped) rank.page_when_stopped = read_progress(rank.folder / "progress");
  rank.last_stopped = now;
  rank.traced = state == 't';
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
  const auto now = std::chrono::steady_clock::now();
  for (std::size_t index = 0; index < ranks_.size(); ++index) {
    const Rank& rank = ranks_[index];
    RankSight sight;
    sight.rank = static_cast<std::int64_t>(index);
    sight.replica = rank.replica;
    sight.found = rank.pid != 0;
    sight.gone = rank.gone;
    sight.gone_order = rank.gone_order;
    sight.stopped = rank.last_stopped && now - *rank.last_stopped < still_stopped;
    sight.traced = sight.stopped && rank.traced;
    sight.still = rank.pid != 0 && (rank.gone ? rank.gone_at : now) - rank.last_switch >= longest_without_switch;
    sight.exit = exit_of(rank.folder);
    if (sight.exit) sight.where = sight.exit->where;
    const auto page = sight.stopped ? rank.page_when_stopped : read_progress(rank.folder / "progress");
    if (page) {
      if (page->of_another_host()) sight.host = page->host;
      sight.seen = true;
      sight.action = page->action;
      sight.step = page->step;
      sight.peer = page->peer;
      if (page->peer >= 0 && page->peer < std::ssize(rank.pipeline))
        sight.peer = rank.pipeline[static_cast<std::size_t>(page->peer)];
    }
    sights.push_back(std::move(sight));
  }
  apply_reported_waits(sights);
  return sights;
}

}  // namespace plumbline
