// The checks, one file each beside this header, and what they have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/judgement.hpp"

namespace plumbline::judging {

/// Holds both records to what was asked of them. Not applicable where nobody said what was.
Judged check_as_asked(const CellPlan& plan, const RecordReading& reference, const RecordReading& candidate);

/// Looks at both records before anything is compared. `launch` findings stand in the reason.
Judged check_completion(const CellPlan& plan, const RecordReading& reference, const RecordReading& candidate);

Judged check_data(const CellEvidence& evidence);
Judged check_census(const CellEvidence& evidence);
Judged check_loss(const CellEvidence& evidence);
Judged check_boundaries(const CellEvidence& evidence);
Judged check_gradients(const CellEvidence& evidence);
Judged check_nonzero_gradients(const CellEvidence& evidence);
Judged check_gradient_norm(const CellEvidence& evidence);
Judged check_parameters(const CellEvidence& evidence);
Judged check_audit(const CellEvidence& evidence);
Judged check_empty_partitions(const CellEvidence& evidence);
Judged check_variable_lengths(const CellEvidence& evidence);
Judged check_memory(const CellEvidence& evidence);
Judged check_conformance(const CellEvidence& evidence);
Judged check_repeatability(const CellEvidence& evidence);

/// What a comparison of values demands: "0 ULP", or the calibrated tier's rule.
std::string value_limit(const CellEvidence& evidence);
/// "the same bits", or "within their limits".
std::string agreement(const CellEvidence& evidence);

struct Check {
  std::string name;
  bool needs_tensors = false;     ///< rows that only level full or above has
  bool needs_same_start = false;  ///< says nothing once the parameters of step -1 differ
  /// Why the check does not apply, decided from the plan and the candidate's manifest alone; null where it always
  /// applies.
  std::optional<std::string> (*not_applicable)(const CellPlan& plan, const Manifest& candidate) = nullptr;
  Judged (*run)(const CellEvidence& evidence) =
      nullptr;  ///< null for as_asked and completion, which are judged before there is evidence
};

/// In the order of the table.
const std::vector<Check>& all_checks();

}  // namespace plumbline::judging
