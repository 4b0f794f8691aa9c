// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/bubble.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "schedule/simulator.hpp"
#include "schedule/verifier.hpp"

namespace plumbline {

Simulation summarize(const Schedule& schedule, std::vector<std::vector<ActionTime>> actions) {
  Simulation result;
  result.actions = std::move(actions);
  double first = std::numeric_limits<double>::infinity();
  double last = -first;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    double rank_first = std::numeric_limits<double>::infinity();
    double rank_last = -rank_first;
    double work = 0;
    for (std::size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      if (!is_compute(schedule.ranks[rank][i].type)) continue;
      const ActionTime& time = result.actions[rank][i];
      rank_first = std::min(rank_first, time.start);
      rank_last = std::max(rank_last, time.end);
      work += time.end - time.start;
    }
    result.peak_slots.push_back(peak_slots(schedule.ranks[rank]));
    if (rank_last < rank_first) continue;  // no compute actions
    first = std::min(first, rank_first);
    last = std::max(last, rank_last);
    const double span = rank_last - rank_first;
    const double idle = std::max(0.0, span - work);  // rounding can make it negative
    result.bubble = std::max(result.bubble, idle);
    if (span > 0) result.bubble_rate = std::max(result.bubble_rate, idle / span);
  }
  result.makespan = last > first ? last - first : 0;
  return result;
}

}  // namespace plumbline
