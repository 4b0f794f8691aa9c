#include "schedule/schedule.hpp"

#include "schedule/afab.hpp"
#include "schedule/one_f_one_b.hpp"
#include "support/error.hpp"

namespace plumbline {

std::vector<std::int32_t> Placement::stages_on(std::int32_t rank) const {
  std::vector<std::int32_t> held;
  for (std::int32_t chunk = 0; chunk < chunks_per_rank; ++chunk) held.push_back(chunk * ranks + rank);
  return held;
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = {"afab", "1f1b"};
  return names;
}

Schedule make_schedule(const std::string& name, std::int32_t ranks, std::int32_t microbatches,
                       std::int32_t chunks_per_rank) {
  const bool afab = name == "afab";
  if (!afab && name != "1f1b") {
    throw InputError("schedule \"" + name + "\" is unknown: choose afab or 1f1b, or name a schedule file");
  }
  const std::string what = "schedule " + name + " on " + std::to_string(ranks) + " ranks with " +
                           std::to_string(microbatches) + " microbatches and " + std::to_string(chunks_per_rank) +
                           " chunks a rank: ";
  if (ranks < 1) throw InputError(what + "the world size must be at least 1");
  if (microbatches < 1) throw InputError(what + "at least 1 microbatch is needed; add lengths to the run file");
  if (chunks_per_rank != 1) throw InputError(what + name + " has one chunk a rank; set chunks = 1");

  Schedule schedule{name, {ranks, chunks_per_rank}, microbatches, {}};
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    schedule.ranks.push_back(afab ? afab_list(rank, microbatches) : one_f_one_b_list(rank, ranks, microbatches));
  }
  return schedule;
}

}  // namespace plumbline
