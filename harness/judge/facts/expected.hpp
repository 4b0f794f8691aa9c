// SPDX-License-Identifier: BSD-3-Clause
// The facts that must exist: the reference's, placed by the candidate's partition.
#pragma once

#include <vector>

#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/facts/fact.hpp"

namespace plumbline::judging {

/// A fact that a candidate must state. Its place counts only in columns that are `placed`; a rank of -1 is anywhere.
struct Expected : Fact {
  bool if_either = false;       ///< no fact at all is right, too
  bool value_optional = false;  ///< the source need not state a value; without one, any value is correct
  bool of_candidate = false;  ///< the value is the candidate's own, from another end of the tensor's way: equal in bits
};
using Expectations = std::vector<Expected>;

/// The expectations of a column in the step, sorted by key.
Expectations expected_facts(const StepEvidence& now, Column column);

/// False if a column is meaningless in the step: rates of a skipped step, or rates by rank if they are compared by
/// parameter.
bool is_compared(const StepEvidence& now, Column column);

/// True if both records are of one device and the candidate records tensors at the boundaries of its units, as a
/// reference or an external trainer does.
bool records_its_cuts(const StepEvidence& now);

// Its parts.
void expect_tensors(const StepEvidence& now, Column column, Expectations& expected);
void expect_boundaries(const StepEvidence& now, Column column, Expectations& expected);
void expect_scalars(const StepEvidence& now, Column column, Expectations& expected);

}  // namespace plumbline::judging
