// SPDX-License-Identifier: BSD-3-Clause
// A factor that all differing values of a step have in common, and the count that explains it.
#pragma once

#include <string>

#include "harness/judge/evidence/cell_evidence.hpp"

namespace plumbline::judging {

/// True if the two agree within the relative tolerance.
bool near(double one, double other, double tolerance = 1e-6);

/// "4 times the reference's: as many as microbatches" or "1/4 of the reference's: ...". Tried are the counts by which
/// trainers divide: microbatches, stages, replicas, tokens, valid tokens, tokens / valid tokens; and 2, a sum that is
/// taken twice. `ratio`: the candidate's over the reference's, positive and finite; `tolerance`: relative.
std::string factor_words(const StepEvidence& now, double ratio, double tolerance);

/// True if factor_words() names a count.
bool is_counted(const StepEvidence& now, double ratio, double tolerance);

}  // namespace plumbline::judging
