// A schedule: which stage lies on which rank, and what each rank does in order. Pure data, made by pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/action.hpp"

namespace plumbline {

/// loop: stage s on rank s mod p. v: down the ranks, back up, and so on, so that the stages at a turn are neighbours on
/// one rank.
enum class PlacementKind : std::uint8_t { loop, v };

struct Placement {
  std::int32_t ranks = 1;
  std::int32_t chunks_per_rank = 1;
  PlacementKind kind = PlacementKind::loop;

  std::int32_t stages() const { return ranks * chunks_per_rank; }
  std::int32_t rank_of(std::int32_t stage) const {
    const std::int32_t within = stage % ranks;
    const bool upwards = kind == PlacementKind::v && stage / ranks % 2 == 1;
    return upwards ? ranks - 1 - within : within;
  }
  /// Ascending.
  std::vector<std::int32_t> stages_on(std::int32_t rank) const;
};

struct Schedule {
  std::string name;
  Placement placement;
  std::int32_t microbatches = 1;
  std::vector<ActionList> ranks;  ///< compute-only, one list a rank
};

/// Names of all schedules that make_schedule knows.
const std::vector<std::string>& schedule_names();
/// Chunks a rank that a schedule is made for: 2 for those with several, else 1.
std::int32_t default_chunks(const std::string& name);

/// The compute-only lists. Throws InputError that says what would fit (unknown name, sizes that the schedule cannot
/// have). The name decides the placement: V for zb-v and dualpipe-v, loop for all others.
Schedule make_schedule(const std::string& name, std::int32_t ranks, std::int32_t microbatches,
                       std::int32_t chunks_per_rank = 1);

/// What the executor runs: the same lists with SEND_*, RECV_*, then, when `tied` and there are several stages, REDUCE
/// once on the ranks of the first and of the last stage (once in all, under the first stage, where one rank holds
/// both), and STEP once a rank under its lowest stage. A RECV stands where the sender's moment is; two stages of one
/// rank hand over without a message. Blocking-safe. Throws InputError where the lists wait for each other in a circle.
Schedule lower(const Schedule& compute_only, bool tied);
/// REDUCE and STEP at the lists' ends, as `lower` puts them there.
void add_ending(Schedule& lowered, bool tied);

/// schedule.csv: one row a rank, no bubbles. `to_csv` is the file's exact bytes.
std::string to_csv(const Schedule& schedule);
/// Reads lists of any actions, whatever they are worth. The placement is the one, loop or V, that the stages in the
/// rows agree with.
Schedule lists_from_csv(const std::string& path, const std::string& name, std::int32_t chunks_per_rank);
/// The same without messages, REDUCE and STEP.
Schedule compute_actions(Schedule schedule);
/// The compute actions of a record's schedule.csv (runnable_from_record also gives its messages). Throws InputError
/// with find_incomplete's first finding.
Schedule schedule_from_csv(const std::string& path, const std::string& name, std::int32_t chunks_per_rank);

}  // namespace plumbline
