// SPDX-License-Identifier: BSD-3-Clause
// A check's view of a case: before the first step the plan, both manifests, and what follows from them; then the rows
// of both records, step by step, with lookups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/cell_plan.hpp"
#include "harness/judge/evidence/record_reading.hpp"
#include "harness/judge/expected/model.hpp"
#include "harness/judge/facts/fact.hpp"
#include "harness/judge/limits/value_comparison.hpp"
#include "record/finding.hpp"
#include "record/record.hpp"
#include "schedule/schedule.hpp"

namespace plumbline::judging {

/// Keeps pointers into the records, whose tables hold the rows of the current step. Created only for complete,
/// comparable records.
struct CellEvidence {
  CellEvidence(const CellPlan& cell_plan, const Record& reference_record, const Record& candidate_record,
               const RecordReading* repeated_record, ValueComparison& value_comparison = in_bits());

  const CellPlan& plan;
  const Record& reference;
  const Record& candidate;
  const RecordReading* repeated;  ///< null without a repeated run
  ValueComparison* values;        ///< never null
  ExpectedModel model;
  StageMap stages;  ///< the candidate's
  StageMap reference_stages;
  std::optional<Schedule> compute_list;  ///< the candidate's schedule.csv, its microbatches numbered as in its rows;
                                         ///< nullopt if it has none
  std::optional<Schedule> lowered_list;  ///< including messages, REDUCE and STEP
  bool lists_messages = false;           ///< schedule.csv itself lists messages
  std::string not_recorded;              ///< why rows that the current check compares are missing; empty if none are
  std::string schedule_error;            ///< why the lists are nullopt although the file exists

  /// The first step whose clip coefficients differ by the rounding of norms summed rank by rank. Bits are compared
  /// through that step's gradients, but nothing that follows from the coefficients.
  std::optional<std::int64_t> norm_diverged_at;

  /// First step of both records: a resumed candidate is compared with the reference from that step on.
  std::int64_t first_step() const { return reference.first_step; }
  std::int64_t last_step() const { return reference.manifest.steps - 1; }
  std::int64_t steps() const { return reference.steps(); }
  /// Number of steps in which bits are compared: before the update, and of the update.
  std::int64_t compared_steps() const { return norm_diverged_at ? *norm_diverged_at - first_step() + 1 : steps(); }
  std::int64_t compared_updates() const { return norm_diverged_at ? *norm_diverged_at - first_step() : steps(); }
  std::int64_t microbatches() const { return reference.manifest.microbatches; }  ///< of the reference
  // The candidate's microbatches may be a part of the reference's: from `first_own` to before `end_own`.
  std::int64_t own_microbatches() const { return candidate.manifest.microbatches; }
  std::int64_t first_own() const { return candidate.first_microbatch; }
  std::int64_t end_own() const { return first_own() + own_microbatches(); }
  /// For microbatches, which the reference's rows define.
  bool sizes_recorded() const { return recorded_throughout(reference, {"inputs", "labels"}); }
  /// The candidate's; nullopt if no stage holds the last unit.
  std::optional<std::int64_t> stage_of_loss() const {
    return model.units.empty() ? std::nullopt : stages.stage_of(model.units.back());
  }
  bool tied() const { return !candidate.manifest.tied.empty(); }
  /// True if the gradient norm of one of them is summed rank by rank, with other roundings.
  bool norm_by_rank() const;
};

/// Keeps pointers into the records' current rows; valid until the next step.
struct StepEvidence {
  /// `rows_before`: the reference's rows of the previous step.
  StepEvidence(const CellEvidence& cell_evidence, std::int64_t step_in_hand,
               const std::vector<RankRecord>& reference_ranks_before,
               const std::vector<RankRecord>& candidate_ranks_before, RecordIndex rows_before)
      : cell(cell_evidence),
        step(step_in_hand),
        reference_rows(cell.reference.ranks),
        candidate_rows(cell.candidate.ranks),
        facts{recorded_facts(cell.reference), recorded_facts(cell.candidate)},
        reference_rows_before(std::move(rows_before)),
        reference_before(reference_ranks_before),
        candidate_before(candidate_ranks_before) {}

  const CellEvidence& cell;
  std::int64_t step;  ///< -1: the start
  RecordIndex reference_rows, candidate_rows;
  StepFacts facts;
  RecordIndex reference_rows_before;
  const std::vector<RankRecord>&reference_before, &candidate_before;  ///< rows of the previous step, by rank

  /// True if no optimizer of either run stepped: gradients, norms and rates of such a step change nothing.
  bool skipped() const {
    return any_updated(cell.reference.ranks) == false && any_updated(cell.candidate.ranks) == false;
  }

  /// boundary_bytes() of this step, from the reference.
  std::vector<std::int64_t> boundary_bytes() const {
    return judging::boundary_bytes(reference_rows, cell.reference.manifest, cell.model.hidden);
  }
};

/// A Llama with Hugging Face's names if the reference is a record of our own trainers, or an external one with such
/// config, units and names. Otherwise the reference's units and the parameters of its start, in its order: a parameter
/// belongs to the unit whose name is a prefix ("conv1" of "conv1.weight"), or else to the stage of the candidate that
/// lists it. Reads the start of both records itself.
ExpectedModel model_of_records(const Record& reference, const Record& candidate);

/// The computations of one device, one microbatch after the other.
ActionList one_by_one(std::int64_t microbatches);

/// The same list for microbatches counted from `first` on.
Schedule counted_from(std::int64_t first, Schedule schedule);

struct ClippingCall {
  double norm = 0;                 ///< the trainer's own
  std::optional<double> replayed;  ///< the norm that it clipped by instead
  std::optional<double> coefficient;
};

/// A rank's calls in the current step, in order: from norms.csv, or else the single one from steps.csv.
std::vector<ClippingCall> clipping_calls(const RankRecord& rank);
/// The calls of the first rank that has any.
std::vector<ClippingCall> first_clipping_calls(const Record& record);

/// Relative limit for a norm of a record without rows of its gradients. `wider`: stored in float32. The storage
/// of single tensors' norms cancels between two records of the same gradients.
double norm_limit_by_model(const Record& record, const ExpectedModel& model, bool wider);

/// True if in this step the two runs clipped by coefficients that differ by roundings, or may have: the norm of one is
/// not recorded, and all gradients as applied have one ratio that such a rounding explains. False if the reference
/// replayed the candidate's norms.
bool coefficients_diverge(const StepEvidence& now);

/// Why the reference's norms.csv is not a replay of this candidate's; empty if it is, or if it does not replay norms.
std::string why_no_replay_of(const Record& reference, const Record& candidate);

}  // namespace plumbline::judging
