// SPDX-License-Identifier: BSD-3-Clause
// Compares the rows of boundaries.csv with the stage boundaries of the partition and with the reference's tensors
// there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "harness/judge/check_result_builder.hpp"
#include "harness/judge/evidence/step_evidence.hpp"

namespace plumbline::judging {

/// For each stage boundary and microbatch in both directions: the required rows exist, have the expected form and the
/// reference's digest. If the candidate records its inner boundaries, all of them are compared as well. Counts
/// crossings, computed, tensors, elements, bytes.
class BoundaryComparison {
 public:
  /// `compare_gradients` false: backward rows are compared only with each other.
  BoundaryComparison(const CellEvidence& evidence, bool compare_gradients, CheckResultBuilder& builder);
  ~BoundaryComparison();

  void step(const StepEvidence& now);
  /// True if both records have one rank and the candidate, with one stage, lists `computed` tensors at its boundaries,
  /// as a reference or an external trainer does. Derived from the steps so far.
  bool candidate_records_its_cuts() const;

 private:
  class Rows;
  std::unique_ptr<Rows> rows_;
  CheckResultBuilder& builder_;
};

/// The reference's row for a stage boundary: its `computed` one or, if the "reference" is itself a pipeline, the one
/// that was sent there.
const BoundaryRow* reference_boundary(const RecordIndex& reference_rows, std::int64_t microbatch,
                                      const std::string& direction, const std::string& cut);

}  // namespace plumbline::judging
