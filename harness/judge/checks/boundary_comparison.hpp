// Rows of boundaries.csv held against the crossings that the partition makes and the reference's tensors at the same
// cuts.
#pragma once

#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/judgement.hpp"

namespace plumbline::judging {

/// Each crossing of each microbatch, both directions: the rows that must be there, of the expected form, with the
/// reference's digest. `compare_gradients` false: backward rows are only held against each other. Counts crossings,
/// tensors, elements, bytes.
void compare_boundaries(const CellEvidence& evidence, bool compare_gradients, Judgement& judgement);

/// The reference's row for a cut: its `computed` one, or, where the "reference" is itself a pipeline, what was handed
/// on there.
const BoundaryRow* reference_boundary(const CellEvidence& evidence, std::int64_t step, std::int64_t microbatch,
                                      const std::string& direction, const std::string& cut);

}  // namespace plumbline::judging
