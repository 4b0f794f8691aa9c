// SPDX-License-Identifier: BSD-3-Clause
// What a check knows before the first step: the plan of the cell, both records' manifests and what else is of no step,
// and what follows from these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/judge/cell_plan.hpp"
#include "harness/judge/evidence/record_reading.hpp"
#include "harness/judge/expected/expected_model.hpp"
#include "harness/judge/expected/stage_map.hpp"
#include "harness/judge/limits/value_comparison.hpp"
#include "record/record.hpp"
#include "schedule/schedule.hpp"

namespace plumbline::judging {

/// Points into the records, which must outlive it; their tables hold the rows of the step in hand. Made only of
/// complete records that can be compared.
struct CellEvidence {
  CellEvidence(const CellPlan& cell_plan, const Record& reference_record, const Record& candidate_record,
               const RecordReading* repeated_record, ValueComparison& value_comparison = in_bits());

  const CellPlan& plan;
  const Record& reference;
  const Record& candidate;
  const RecordReading* repeated;  ///< null when no repeat was made
  ValueComparison* values;        ///< never null
  ExpectedModel model;
  StageMap stages;  ///< the candidate's
  StageMap reference_stages;
  std::optional<Schedule> compute_list;  ///< the candidate's schedule.csv; absent where it has none
  std::optional<Schedule> lowered_list;  ///< with messages, REDUCE and STEP
  bool lists_messages = false;           ///< schedule.csv names messages of its own
  std::string not_recorded;  ///< why rows are absent that the check compares which is being made; empty where none are
  std::string schedule_error;  ///< why the lists are absent although the file is there

  /// The first step in which the two clip by coefficients that differ as roundings of a norm summed rank by rank do.
  /// Bits are demanded up to that step's gradients, and of no value after them.
  std::optional<std::int64_t> parted;

  /// Both records begin there: a candidate that was gone on with is held against the reference from that step on.
  std::int64_t first_step() const { return reference.first_step; }
  std::int64_t last_step() const { return reference.manifest.steps - 1; }
  std::int64_t steps() const { return reference.steps(); }
  /// Steps of which bits are compared: of all that comes before the update, and of the update.
  std::int64_t compared_steps() const;
  std::int64_t compared_updates() const;
  std::int64_t microbatches() const { return reference.manifest.microbatches; }
  /// Of microbatches, which are known by the reference's rows.
  bool sizes_recorded() const { return reference.manifest.recorded({"inputs", "labels"}); }
  bool tied() const { return !candidate.manifest.tied.empty(); }
};

/// Whether a table that only a record of role external may lack is lacking.
bool lacks(const Record& record, const std::string& file);

/// "step 2, microbatch 3", "the start" for step -1.
std::string step_words(std::int64_t step, std::optional<std::int64_t> microbatch = std::nullopt);

}  // namespace plumbline::judging
