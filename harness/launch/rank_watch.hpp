// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a running launch, seen from outside: alive or gone, doing what, how much memory at most.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "harness/launch/diagnosis.hpp"
#include "harness/launch/process_tree.hpp"
#include "record/progress_page.hpp"

namespace plumbline {

class RankWatch {
 public:
  /// `record` need not exist yet.
  RankWatch(const std::filesystem::path& record, std::int64_t ranks, const ProcessTree& tree);

  /// Looks at every rank once: pages that have appeared, VmHWM, whether its process lives.
  void glance();
  /// Whether some rank has gone without a word, or wrote that it did not end well.
  bool trouble() const { return trouble_; }
  bool any_seen() const;
  bool all_seen() const;
  /// For how long the rank that has stood still for longest has been stopped (SIGSTOP) before its first sign of life.
  std::chrono::steady_clock::duration stopped_before_its_start() const;
  /// Whether this process was seen to be a rank.
  bool is_rank(pid_t pid) const;
  /// The ranks with their pages and exit files as they stand on disk now.
  std::vector<RankSight> sights() const;
  /// VmHWM of each rank at its last glance; empty unless every rank's was read.
  std::vector<std::int64_t> peak_bytes() const;
  /// The most RssAnon + RssShmem of each rank at any glance; empty likewise. What lives for less than the time between
  /// two glances may not be in it.
  std::vector<std::int64_t> private_bytes() const;

 private:
  struct Rank {
    std::filesystem::path folder;
    std::vector<std::int64_t> pipeline;  ///< whom its page calls 0, 1, ...; empty where these are the run's own numbers
    pid_t pid = 0;
    bool gone = false;
    std::optional<std::chrono::steady_clock::time_point> last_stopped;   ///< when it was last seen in state T or t
    std::optional<std::chrono::steady_clock::time_point> stopped_since;  ///< before its first sign of life
    bool traced = false;                                                 ///< that was t
    std::optional<ProgressSnapshot> page_when_stopped;
    std::int64_t naps = 0;
    std::chrono::steady_clock::time_point last_nap = {};  ///< when `naps` was last seen to have grown
    std::chrono::steady_clock::time_point gone_at = {};
    std::int64_t gone_order = 0;
    std::int64_t peak_bytes = 0, private_bytes = 0;
  };
  void look_for_mesh();
  void look_for_stopped();
  bool died_unseen(const ProgressSnapshot& page) const;
  static void note_stop(Rank& rank, char state);

  std::filesystem::path record_;
  const ProcessTree& tree_;
  std::vector<Rank> ranks_;
  std::chrono::steady_clock::time_point last_look_for_stopped_ = {};
  std::int64_t glances_with_losses_ = 0;
  bool trouble_ = false;
};

}  // namespace plumbline
