// Rows of boundaries.csv held against the crossings that the partition makes and the reference's tensors at the same
// cuts.
#pragma once

#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/judgement.hpp"

namespace plumbline::judging {

/// Each crossing of each microbatch, both directions: the rows that must be there, of the expected form, with the
/// reference's digest. `compare_gradients` false: backward rows are only held against each other. Where the candidate
/// records its cuts, every one of them as well. Counts crossings, computed, tensors, elements, bytes.
void compare_boundaries(const CellEvidence& evidence, bool compare_gradients, Judgement& judgement);

/// Whether both records are of one rank and the candidate, of one stage, lists what it `computed` at its cuts: a
/// reference or an external trainer, on whichever side.
bool records_its_cuts(const CellEvidence& evidence);

/// The reference's row for a cut: its `computed` one, or, where the "reference" is itself a pipeline, what was handed
/// on there.
const BoundaryRow* reference_boundary(const CellEvidence& evidence, std::int64_t step, std::int64_t microbatch,
                                      const std::string& direction, const std::string& cut);

}  // namespace plumbline::judging
