// SPDX-License-Identifier: BSD-3-Clause
// Rows of boundaries.csv held against the crossings that the partition makes and the reference's tensors at the same
// cuts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "harness/judge/evidence/step_evidence.hpp"
#include "harness/judge/judgement.hpp"

namespace plumbline::judging {

/// Each crossing of each microbatch, both directions: the rows that must be there, of the expected form, with the
/// reference's digest. Where the candidate records its cuts, every one of them as well. Counts crossings, computed,
/// tensors, elements, bytes.
class BoundaryComparison {
 public:
  /// `compare_gradients` false: backward rows are only held against each other.
  BoundaryComparison(const CellEvidence& evidence, bool compare_gradients, Judgement& judgement);
  ~BoundaryComparison();

  void step(const StepEvidence& now);
  /// Whether both records are of one rank and the candidate, of one stage, lists what it `computed` at its cuts: a
  /// reference or an external trainer, on whichever side. Known from the steps so far.
  bool candidate_records_its_cuts() const;

 private:
  class Rows;
  std::unique_ptr<Rows> rows_;
  Judgement& judgement_;
};

/// A step's row of the reference for a cut: its `computed` one, or, where the "reference" is itself a pipeline, what
/// was handed on there.
const BoundaryRow* reference_boundary(const RecordIndex& reference_rows, std::int64_t microbatch,
                                      const std::string& direction, const std::string& cut);

}  // namespace plumbline::judging
