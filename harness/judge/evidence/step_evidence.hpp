// SPDX-License-Identifier: BSD-3-Clause
// A check's view of one step: the rows of both records, with lookups.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/evidence/record_index.hpp"

namespace plumbline::judging {

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
        reference_rows_before(std::move(rows_before)),
        reference_before(reference_ranks_before),
        candidate_before(candidate_ranks_before) {}

  const CellEvidence& cell;
  std::int64_t step;  ///< -1: the start
  RecordIndex reference_rows, candidate_rows;
  RecordIndex reference_rows_before;
  const std::vector<RankRecord>&reference_before, &candidate_before;  ///< rows of the previous step, by rank

  /// boundary_bytes() of this step, from the reference.
  std::vector<std::int64_t> boundary_bytes() const {
    return judging::boundary_bytes(reference_rows, cell.reference.manifest, cell.model.hidden);
  }
};

}  // namespace plumbline::judging
