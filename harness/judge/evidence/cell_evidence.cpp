// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/evidence/cell_evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "harness/judge/predicates/forms.hpp"
#include "record/precision.hpp"
#include "record/rank_folder.hpp"
#include "schedule/runnable.hpp"
#include "support/elements.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"

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

namespace {

/// Larger differences are not rounding; gradient_norm reports them.
bool may_be_rounding(double one, double other) {
  return std::abs(other / one - 1) <= 2 * predicates::widest_norm_limit;
}

/// Rows of `applied` that both records have, as pairs. Empty if a record has none.
std::vector<std::pair<const TensorRow*, const TensorRow*>> applied_in_both(const StepEvidence& now) {
  std::vector<std::pair<const TensorRow*, const TensorRow*>> pairs;
  for (const auto& placed : now.candidate_rows.all_tensors()) {
    if (placed.row->kind != "applied") continue;
    const auto& theirs = now.reference_rows.tensors("applied", placed.row->name);
    if (!theirs.empty()) pairs.emplace_back(theirs.front().row, placed.row);
  }
  return pairs;
}

/// True if some gradient was applied with other bits, and all sizes agree within the roundings of two norms and of the
/// products with their coefficients.
bool applied_by_another_rounding(const StepEvidence& now) {
  const CellEvidence& cell = now.cell;
  const double limit =
      norm_limit_by_model(cell.reference, cell.model, false) + norm_limit_by_model(cell.candidate, cell.model, false);
  bool any = false;
  for (const auto& [theirs, mine] : applied_in_both(now)) {
    if (theirs->digest == mine->digest) continue;
    any = true;
    const double of_product = theirs->dtype == "bfloat16" ? 0x1p-7 : theirs->dtype == "float16" ? 0x1p-10 : 0x1p-20;
    if (!(std::abs(mine->l2 - theirs->l2) <= (limit + of_product) * theirs->l2)) return false;
  }
  return any;
}

bool other_state_after(const StepEvidence& now) {
  return std::ranges::any_of(now.candidate_rows.all_tensors(), [&](const auto& placed) {
    const auto& theirs = now.reference_rows.tensors(placed.row->kind, placed.row->name);
    return placed.row->kind != "gradient" && !theirs.empty() && theirs.front().row->digest != placed.row->digest;
  });
}

}  // namespace

std::vector<ClippingCall> clipping_calls(const RankRecord& rank) {
  std::vector<ClippingCall> calls;
  for (const NormRow& row : rank.norms) calls.push_back({row.norm, row.replayed, row.coefficient});
  if (!calls.empty()) return calls;
  for (const StepRow& row : rank.steps)
    if (row.gradient_norm) calls.push_back({*row.gradient_norm, row.replayed_norm, row.clip_coefficient});
  return calls;
}

std::vector<ClippingCall> first_clipping_calls(const Record& record) {
  for (const RankRecord& rank : record.ranks)
    if (auto calls = clipping_calls(rank); !calls.empty()) return calls;
  return {};
}

double norm_limit_by_model(const Record& record, const ExpectedModel& model, bool wider) {
  predicates::NormTerms terms;
  terms.dtype = trained_dtype(record.manifest.dtype);
  if (wider && terms.dtype == "bfloat16") terms.dtype = "float32";
  terms.tensors = static_cast<double>(model.parameters.size());
  terms.ranks = static_cast<double>(record.manifest.world_size);
  for (const auto& parameter : model.parameters)
    terms.largest = std::max(terms.largest, static_cast<double>(element_count(parameter.shape)));
  return predicates::norm_rounding(terms);
}

bool coefficients_diverge(const StepEvidence& now) {
  const CellEvidence& cell = now.cell;
  const Manifest &theirs = cell.reference.manifest, &mine = cell.candidate.manifest;
  if (!cell.norm_by_rank() || theirs.norms_from || !theirs.clip_norm || !mine.clip_norm) return false;
  const auto expected = first_clipping_calls(cell.reference), got = first_clipping_calls(cell.candidate);
  if (expected.empty() || got.empty()) return applied_by_another_rounding(now);
  if (expected.size() != got.size()) return false;
  bool clips = false, other_norms = false;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto &one = expected[i].coefficient, &other = got[i].coefficient;
    if (!one || !other || !may_be_rounding(*one, *other) || !may_be_rounding(expected[i].norm, got[i].norm))
      return false;
    if (*one != *other) return true;
    clips = clips || *one < 1;
    other_norms = other_norms || expected[i].norm != got[i].norm;
  }
  // The coefficients that the recorders compute from the norms agree; the trainers' may round differently.
  if (!clips || !other_norms) return false;
  return applied_in_both(now).empty() ? other_state_after(now) : applied_by_another_rounding(now);
}

std::string why_no_replay_of(const Record& reference, const Record& candidate) {
  const auto& from = reference.manifest.norms_from;
  if (!from) return "";
  const std::filesystem::path file = candidate.path / rank_folder(from->rank) / "norms.csv";
  const std::string digest =
      std::filesystem::exists(file) ? hash_hex(read_file(file, most_by_program)) : "no such file";
  if (digest == from->digest) return "";
  return fmt::format(
      "the reference clipped by another run's norms ({}): record the run on one device again, with norms_from= the "
      "candidate's record",
      from->run_id);
}

}  // namespace plumbline::judging
