// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/evidence/cell_evidence.hpp"

#include <utility>

#include "harness/judge/predicates/norm_rounding.hpp"
#include "schedule/runnable.hpp"
#include "support/error.hpp"

namespace plumbline::judging {

CellEvidence::CellEvidence(const CellPlan& cell_plan, const Record& reference_record, const Record& candidate_record,
                           const RecordReading* repeated_record, ValueComparison& value_comparison)
    : plan(cell_plan),
      reference(reference_record),
      candidate(candidate_record),
      repeated(repeated_record),
      values(&value_comparison),
      model(model_of_records(reference_record, candidate_record)),
      stages(stage_map(candidate_record.manifest)),
      reference_stages(stage_map(reference_record.manifest)) {
  if (!candidate.schedule_csv) return;
  const auto& manifest = candidate.manifest;
  try {
    RunnableSchedule lists = runnable_from_record((candidate.path / "schedule.csv").string(), manifest.schedule_name,
                                                  static_cast<std::int32_t>(manifest.chunks_per_rank), tied());
    lists_messages = lists.own_messages;
    compute_list = counted_from(first_own(), std::move(lists.compute));
    lowered_list = counted_from(first_own(), std::move(lists.lowered));
  } catch (const InputError& error) {
    schedule_error = error.what();
  }
}

bool CellEvidence::norm_by_rank() const {
  return predicates::summed_by_rank(reference.manifest) || predicates::summed_by_rank(candidate.manifest);
}

ActionList one_by_one(std::int64_t microbatches) {
  ActionList list;
  for (std::int32_t m = 0; m < static_cast<std::int32_t>(microbatches); ++m) {
    list.push_back({0, ActionType::forward, m});
    list.push_back({0, ActionType::backward, m});
  }
  return list;
}

Schedule counted_from(std::int64_t first, Schedule schedule) {
  for (ActionList& list : schedule.ranks) {
    for (Action& action : list) {
      if (action.microbatch != no_microbatch) action.microbatch += static_cast<std::int32_t>(first);
    }
  }
  return schedule;
}

}  // namespace plumbline::judging
