// The checks, one file each beside this header, and what they have in common.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "harness/judge/evidence/step_evidence.hpp"
#include "harness/judge/judgement.hpp"

namespace plumbline::judging {

/// A check of a cell: it is shown the records step by step and keeps of each only what it needs. What it throws for
/// what a record says makes it fail.
class StepCheck {
 public:
  virtual ~StepCheck() = default;
  /// The start (-1), then every step of the run in its order.
  virtual void step(const StepEvidence& now) = 0;
  /// After the last step.
  virtual Judged conclude() = 0;
};

/// Looks at both records before anything is compared, by what was read of them. `launch` findings stand in the reason.
Judged check_completion(const CellPlan& plan, const RecordReading& reference, const RecordReading& candidate);

std::unique_ptr<StepCheck> data_check(const CellEvidence& evidence);
std::unique_ptr<StepCheck> census_check(const CellEvidence& evidence);
std::unique_ptr<StepCheck> loss_check(const CellEvidence& evidence);
std::unique_ptr<StepCheck> boundaries_check(const CellEvidence& evidence);
std::unique_ptr<StepCheck> gradients_check(const CellEvidence& evidence);
std::unique_ptr<StepCheck> nonzero_gradients_check(const CellEvidence& evidence);
std::unique_ptr<StepCheck> gradient_norm_check(const CellEvidence& evidence);
std::unique_ptr<StepCheck> parameters_check(const CellEvidence& evidence);
std::unique_ptr<StepCheck> evaluation_check(const CellEvidence& evidence);
std::unique_ptr<StepCheck> audit_check(const CellEvidence& evidence);
std::unique_ptr<StepCheck> empty_partitions_check(const CellEvidence& evidence);
std::unique_ptr<StepCheck> variable_lengths_check(const CellEvidence& evidence);
std::unique_ptr<StepCheck> memory_check(const CellEvidence& evidence);
std::unique_ptr<StepCheck> conformance_check(const CellEvidence& evidence);
std::unique_ptr<StepCheck> replicas_check(const CellEvidence& evidence);
std::unique_ptr<StepCheck> resume_check(const CellEvidence& evidence);
std::unique_ptr<StepCheck> repeatability_check(const CellEvidence& evidence);

/// What a comparison of values demands: "0 ULP", or the calibrated tier's rule.
std::string value_limit(const CellEvidence& evidence);
/// "the same bits", or "within their limits".
std::string agreement(const CellEvidence& evidence);

}  // namespace plumbline::judging
