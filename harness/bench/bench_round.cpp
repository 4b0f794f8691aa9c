// SPDX-License-Identifier: BSD-3-Clause
#include "harness/bench/bench_round.hpp"

#include <algorithm>
#include <map>

#include "record/mesh.hpp"
#include "record/record.hpp"
#include "reports/measured_timeline.hpp"
#include "support/error.hpp"

namespace plumbline {

BenchRound measure_round(const std::filesystem::path& record) {
  std::vector<Record> replicas;
  for (const auto& folder : replica_folders(record)) replicas.push_back(read_record(folder));
  if (replicas.empty()) replicas.push_back(read_record(record));
  BenchRound round;
  std::map<std::int64_t, double> seconds;
  for (const Record& replica : replicas) {
    for (const RankRecord& rank : replica.ranks) {
      for (const StepRow& row : rank.steps) {
        if (row.step == 0) continue;  // warm-up
        seconds[row.step] = std::max(seconds[row.step], row.seconds.value_or(0));
        round.tokens = std::max(round.tokens, static_cast<double>(row.tokens));
      }
    }
  }
  for (const auto& [step, longest] : seconds)
    if (longest > 0) round.steps_ms.push_back(1e3 * longest);
  if (round.steps_ms.empty())
    throw InputError(record.string() +
                     ": has only the first step, which warms up; a bench needs train.steps of 2 or more");
  const Record& first = replicas.front();
  if (first.ranks.size() < 2) return round;
  const MeasuredTimeline timeline = measure_timeline(first);
  round.timeline = BenchRound::Timeline{timeline.median_bubble_rate, timeline.planned.bubble_rate,
                                        timeline.median_makespan, timeline.planned.makespan};
  return round;
}

}  // namespace plumbline
