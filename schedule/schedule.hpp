// A schedule: which stage lies on which rank, and what each rank does in order. Pure data, made by pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/action.hpp"

namespace plumbline {

/// Loop placement (stage s on rank s mod p). V placement comes with the schedules that need it.
struct Placement {
  std::int32_t ranks = 1;
  std::int32_t chunks_per_rank = 1;

  std::int32_t stages() const { return ranks * chunks_per_rank; }
  std::int32_t rank_of(std::int32_t stage) const { return stage % ranks; }
  std::vector<std::int32_t> stages_on(std::int32_t rank) const;
};

struct Schedule {
  std::string name;
  Placement placement;
  std::int32_t microbatches = 1;
  std::vector<ActionList> ranks;  ///< compute-only, one list a rank
};

/// Names that make_schedule knows: "afab", "1f1b".
const std::vector<std::string>& schedule_names();

/// The compute-only lists. Throws InputError that says what would fit (unknown name, sizes that the schedule cannot have).
Schedule make_schedule(const std::string& name, std::int32_t ranks, std::int32_t microbatches, std::int32_t chunks_per_rank = 1);

/// What the executor runs: the same lists with SEND_*, RECV_*, then REDUCE on the first and last stage's ranks when `tied` and they
/// differ, and STEP once a rank under its lowest stage. A RECV stands where the sender's moment is. Blocking-safe.
Schedule lower(const Schedule& compute_only, bool tied);

/// schedule.csv: one row a rank, no bubbles. `to_csv` is the file's exact bytes.
std::string to_csv(const Schedule& schedule);
Schedule schedule_from_csv(const std::string& path, const std::string& name, std::int32_t chunks_per_rank);

}  // namespace plumbline
