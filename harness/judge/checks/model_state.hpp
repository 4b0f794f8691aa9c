// Bytes of parameters, gradients and optimiser state against what shapes give.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/evidence/memory_steps.hpp"
#include "harness/judge/judgement.hpp"

namespace plumbline::judging {

/// Every rank of both records against the shapes of its units, and the sum over the ranks against the reference's with
/// the second copy of a tied weight. Our own trainers to the byte; another's within what right ones differ by
/// (docs/record-format.md): how its optimiser counts steps, and whether a tied weight that one rank holds for both of
/// its uses is kept once or twice. Returns what the records lack; what of another's optimiser has no known form is left
/// out, and said.
std::vector<std::string> compare_model_state(const CellEvidence& evidence, const MemorySteps& reference,
                                             const MemorySteps& candidate, Judgement& judgement);

}  // namespace plumbline::judging
