// SPDX-License-Identifier: BSD-3-Clause
// A schedule: which rank holds each stage, and each rank's ordered actions. Pure data, made by pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/action.hpp"

namespace plumbline {

/// loop: stage s on rank s mod p. v: down the ranks, then up, and so on, so that consecutive stages at a turn are on
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
  std::vector<ActionList> ranks;  ///< compute-only, one list per rank
};

/// True if the predicate holds for the type of an action of any list.
template <typename Predicate>
bool any_action(const Schedule& schedule, const Predicate& predicate) {
  return std::ranges::any_of(schedule.ranks, [&](const ActionList& list) {
    return std::ranges::any_of(list, [&](const Action& action) { return predicate(action.type); });
  });
}

/// Names of all schedules that make_schedule knows.
const std::vector<std::string>& schedule_names();
/// The name of schedule_names() that `name` means: itself in any spelling of case, '-', '_' and blanks, with or without
/// torch's "Schedule" before it, or a name that torch or a paper has for the same lists (GPipe, ZBVZeroBubble,
/// PipeDream-Flush). Nothing for a name that is none.
std::optional<std::string> known_schedule(const std::string& name);
/// Default number of chunks per rank: 2 for schedules with several, else 1.
std::int32_t default_chunks(const std::string& name);

/// The compute-only lists. Throws InputError that says what would fit (unknown name, sizes that the schedule cannot
/// have). `name` may be any that known_schedule takes; the schedule has the known one. It decides the placement: V for
/// zb-v and dualpipe-v, loop for all others.
Schedule make_schedule(const std::string& name, std::int32_t ranks, std::int32_t microbatches,
                       std::int32_t chunks_per_rank = 1);

}  // namespace plumbline
