// SPDX-License-Identifier: BSD-3-Clause
// Observes the ranks of a running launch from outside: state and current action.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/launch/diagnosis.hpp"
#include "harness/launch/process_tree.hpp"
#include "record/progress_page.hpp"

namespace plumbline {

/// Where a rank writes its heartbeat.
struct PlaceInMesh {
  std::filesystem::path folder;
  std::string replica;  ///< "replica 1, rank 0"; empty for a single pipeline
  /// Global ranks of its pipeline, in local order; empty if its heartbeat names ranks of the run.
  std::vector<std::int64_t> pipeline;
};

/// By global rank; empty for a single pipeline, and until a replica has listed the ranks.
std::vector<PlaceInMesh> places_in_mesh(const std::filesystem::path& record);

class RankWatch {
 public:
  /// `record` need not exist yet.
  RankWatch(const std::filesystem::path& record, std::int64_t ranks, const ProcessTree& tree);

  /// Polls every rank: new heartbeats, voluntary switches, whether its process lives.
  void glance();
  /// True if a rank disappeared without exit.json, or its exit.json has an error.
  bool trouble() const { return trouble_; }
  bool any_seen() const;
  bool all_seen() const;
  /// How long a rank has been stopped (SIGSTOP) before its first heartbeat; the longest over all ranks.
  std::chrono::steady_clock::duration stopped_before_its_start() const;
  /// True if this process was observed as a rank.
  bool is_rank(pid_t pid) const;
  /// The ranks with their current heartbeats and exit files.
  std::vector<RankSight> sights() const;

 private:
  struct Rank : PlaceInMesh {
    pid_t pid = 0;
    bool gone = false;
    std::optional<std::chrono::steady_clock::time_point> last_stopped;   ///< when it was last in state T or t
    std::optional<std::chrono::steady_clock::time_point> stopped_since;  ///< before its first heartbeat
    bool traced = false;                                                 ///< the state was t
    std::optional<ProgressSnapshot> page_when_stopped;
    std::int64_t switches = 0;                               ///< voluntary ones
    std::chrono::steady_clock::time_point last_switch = {};  ///< when they last grew
    std::chrono::steady_clock::time_point gone_at = {};
    std::int64_t gone_order = 0;
  };
  void find_mesh();
  void find_stopped_ranks();
  bool died_unseen(const ProgressSnapshot& page) const;
  static void note_stop(Rank& rank, char state);

  std::filesystem::path record_;
  const ProcessTree& tree_;
  std::vector<Rank> ranks_;
  std::chrono::steady_clock::time_point last_scan_for_stopped_ = {};
  std::int64_t polls_with_losses_ = 0;
  bool trouble_ = false;
};

}  // namespace plumbline
