// SPDX-License-Identifier: BSD-3-Clause
// What a check is, and what the judge, the report and docs/checks.md must know about it. Each check describes itself in
// checks/<name>_check.cpp by a function <name>_check(). The list in checks.cpp names these functions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/cell_plan.hpp"
#include "harness/judge/check_result_builder.hpp"
#include "harness/judge/evidence/cell_evidence.hpp"
#include "record/record.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

/// A check of a case: it is shown the records step by step and keeps of each only what it needs. If it throws because
/// of what a record says, it fails.
class StepCheck {
 public:
  StepCheck(const CellEvidence& evidence, CheckResultBuilder builder)
      : evidence_(evidence), builder_(std::move(builder)) {
    builder_.not_recorded(evidence.not_recorded);
  }
  virtual ~StepCheck() = default;
  /// The start (-1), then every step of the run in its order.
  virtual void step(const StepEvidence& now) = 0;
  /// After the last step.
  virtual LocatedResult conclude() = 0;

 protected:
  const CellEvidence& evidence_;
  CheckResultBuilder builder_;
};

/// For CheckDescriptor::make.
template <class Check>
std::unique_ptr<StepCheck> make_check(const CellEvidence& evidence) {
  return std::make_unique<Check>(evidence);
}

/// When a case in which the check is incomplete does not hold. Claims of every case (record/verdict.hpp) are required
/// whoever wrote the records; the others of our trainers' own records at level full.
enum class Required {
  always,       ///< even if other checks were selected: a run that broke off, or was not the requested one
  if_selected,  ///< unless other checks were selected
};

/// Which values a check compares. Behind clip coefficients that differ as rounding does, values that follow from them
/// are not compared: the update, and all later steps.
enum class Values {
  none,           ///< none that follows from a coefficient
  before_update,  ///< losses, boundary tensors, gradients
  of_update,      ///< gradients as applied, parameters
};

struct CheckDescriptor {
  std::string name;
  /// Text for docs/checks.md (Markdown): what is true if the check holds, which records it needs, what it adds to
  /// a finding (may be empty), and which faults it lets through.
  std::string claims, needs_in_words = {}, reports = {}, cannot_see;
  RecordLevel level = RecordLevel::summary;  ///< both records must have it
  bool same_start = false;                   ///< meaningless once the parameters of step -1 differ
  Required required = Required::if_selected;
  bool one_device_reference = false;  ///< does not apply if the reference ran on several ranks
  bool of_evaluations = false;        ///< does not apply if neither run evaluates
  Values values = Values::none;
  /// Kinds (record/not_recorded.hpp) without which it is incomplete: in either record, and in the reference's, by whose
  /// microbatches sizes are known.
  std::vector<std::string> needs = {}, needs_of_reference = {};
  /// Kinds without which it compares the rows that exist, and is incomplete unless it finds a difference.
  std::vector<std::string> compares_without = {};
  bool beyond_the_run = false;  ///< shown also the steps that the repeated record has beyond the case's
  /// Why it does not apply, from the plan and the candidate's manifest alone; null if it always applies.
  std::optional<std::string> (*not_applicable)(const CellPlan& plan, const Manifest& candidate) = nullptr;
  /// Null for as_asked and completion, which are judged also if the records cannot be compared.
  std::unique_ptr<StepCheck> (*make)(const CellEvidence& evidence) = nullptr;
};

/// The check `as_asked`: compares manifest and tables of each readable record with its request, also of a run that
/// ended early. Does not apply without requests.
class AsAskedCheck {
 public:
  /// Before the first step. The records must outlive it.
  AsAskedCheck(const CellPlan& plan, const RecordReading& reference, const RecordReading& candidate);
  ~AsAskedCheck();

  /// The step that the records are at.
  void step();
  LocatedResult conclude();

 private:
  class OfRecord;
  const CellPlan& plan_;
  const RecordReading &reference_, &candidate_;
  CheckResultBuilder builder_;
  std::vector<std::unique_ptr<OfRecord>> records_;
};

/// Inspects both records before anything is compared, as far as they were read. The reason quotes `launch` findings.
LocatedResult check_completion(const CellPlan& plan, const RecordReading& reference, const RecordReading& candidate);

/// The check `replicas` of all data parallel pipelines. `records`: one per replica, by number; all must be readable to
/// the end. The start, the reduced gradients, and parameters and moments after each step must agree between replicas.
/// The data must differ.
LocatedResult compare_replicas(const std::vector<std::filesystem::path>& records);

struct BenchRequest {
  bool required = false;
  bool equal_lengths = false;          ///< requested: then microbatches need not differ in size
  std::optional<double> loosest_loss;  ///< mode calibrated: largest limit of a loss; nullopt = bits
};

/// The check `bench`, once per reference: whether its data and steps can show every fault. Demands microbatches whose
/// lengths grow, shrink, repeat and are 1, one fully masked, unequal numbers of valid tokens, no two equal; losses for
/// which token weighting and a mean of means differ by far more than any limit; two steps, and parameters that change.
/// Incomplete if any of this is missing, which the reason names, or if the record cannot be read. Reads the whole
/// record.
CheckResult check_bench(RecordReading reference, const BenchRequest& request);

/// In the order in which they run and are reported.
const std::vector<CheckDescriptor>& all_checks();
/// Throws InputError naming the nearest.
const CheckDescriptor& check_of(const std::string& check);

bool is_selected(const CellPlan& plan, const std::string& check);
/// True if the user accepts that this claim was not compared in full.
bool accepted(const CellPlan& plan, const std::string& claim);
/// True if a case of this plan does not hold while the check is incomplete. `own`: both records are of our own trainers
/// at level full, which lack nothing.
bool is_required(const CellPlan& plan, const CheckDescriptor& check, bool own);
/// "not recorded: receives (torch 2.16.0 has no get_fwd_recv_ops)": what the check needs and the records
/// lack, with their reasons. Empty if nothing is missing. `could_compare`: the same for rows that the check can do
/// without.
std::string why_not_recorded(const CheckDescriptor& check, const Manifest& reference, const Manifest& candidate,
                             bool could_compare);

// Which part of a claim was not compared, from which step on, and why.

/// Completes the result of a check. One that holds up to the step whose clip coefficients differ by the rounding of a
/// norm (`norm_diverged_at`, of JudgedChecks) becomes incomplete from there on.
void note_missing(const CellPlan& plan, const Record& reference, const Record& candidate,
                  std::optional<std::int64_t> norm_diverged_at, CheckResult& result);

}  // namespace plumbline::judging
