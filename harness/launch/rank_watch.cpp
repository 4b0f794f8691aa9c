// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/rank_watch.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <set>

#include "record/exit_file.hpp"
#include "record/mesh.hpp"
#include "record/rank_folder.hpp"
#include "record/record.hpp"
#include "support/error.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// Job managers continue stopped ranks before ending them: a rank that was stopped within this time counts as stopped.
constexpr std::chrono::seconds still_stopped{3};
/// A waiting rank makes thousands of voluntary switches in this time; one that hangs in its wait makes none.
constexpr std::chrono::seconds longest_without_switch{1};
/// Interval for scanning all processes of the tree, which takes time.
constexpr std::chrono::milliseconds between_looks_for_stopped{250};

/// nullopt if it does not exist or is unreadable: a rank that died while writing it counts as one without an exit file.
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

/// The rank that a launcher assigned to a process. From the variables of Open MPI, MPICH, Slurm and torchrun in the
/// process' initial environment, except those that this process has, too: they belong to an outer job. nullopt if there
/// is none or it cannot be read.
std::optional<std::int64_t> launched_rank(pid_t pid) {
  // The order matters: inside of a Slurm job, another launcher's ranks have Slurm's variable, too.
  constexpr std::array<const char*, 5> variables = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK",
                                                    "SLURM_PROCID"};
  std::array<std::optional<std::int64_t>, variables.size()> found;
  std::ifstream environment("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  for (std::string each; std::getline(environment, each, '\0');) {
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const std::string begin = std::string(variables[i]) + "=";
      const bool inherited = std::getenv(variables[i]) != nullptr;
      if (!inherited && each.starts_with(begin)) found[i] = parse_integer(each.substr(begin.size()));
    }
  }
  for (const auto& rank : found) {
    if (rank && *rank >= 0) return rank;
  }
  return std::nullopt;
}

/// From any replica, because their ranks write at different times.
std::optional<Manifest> manifest_of(const std::filesystem::path& record) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(record, none)) {
    if (!entry.path().filename().string().starts_with(replica_folder_prefix)) continue;
    try {
      const Manifest manifest = read_manifest(entry.path());
      if (manifest.mesh) return manifest;
    } catch (const InputError&) {  // being written
    }
  }
  return std::nullopt;
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
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    static_cast<PlaceInMesh&>(ranks_[rank]) = std::move(places[rank]);
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
  return std::ranges::any_of(ranks_, [](const Rank& rank) { return rank.pid != 0 || fs::exists(rank.folder); });
}

bool RankWatch::all_seen() const {
  return std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.pid != 0; });
}

bool RankWatch::is_rank(pid_t pid) const {
  return std::ranges::any_of(ranks_, [&](const Rank& rank) { return rank.pid == pid; });
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

std::vector<PlaceInMesh> places_in_mesh(const std::filesystem::path& record) {
  std::vector<PlaceInMesh> places;
  const auto manifest = manifest_of(record);
  if (!manifest) return places;
  const std::optional<Mesh>& mesh = manifest->mesh;
  const bool names_ranks_of_run = manifest->role == "pipeline";
  places.resize(static_cast<std::size_t>(mesh->world_size()));
  for (std::size_t replica = 0; replica < mesh->replicas.size(); ++replica) {
    const auto& ranks = mesh->replicas[replica];
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      PlaceInMesh& place = places[static_cast<std::size_t>(ranks[rank])];
      place.folder = record / replica_folder_name(static_cast<std::int64_t>(replica)) /
                     rank_folder(static_cast<std::int64_t>(rank));
      place.replica = mesh->place_name(static_cast<std::int64_t>(replica)) + ", rank " + std::to_string(rank);
      if (!names_ranks_of_run) place.pipeline = ranks;
    }
  }
  return places;
}

}  // namespace plumbline
