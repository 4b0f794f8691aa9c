// SPDX-License-Identifier: BSD-3-Clause
// The facts that must exist: the reference's, placed by the candidate's partition.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/facts/fact.hpp"

namespace plumbline::judging {

/// True if neither record has a gradient of any parameter in this step, though some are trainable.
bool without_gradients(const StepEvidence& now);
/// The reason why gradients are then not judged, with advice for the trainer.
extern const char* const no_gradient_compared;

/// `parameter`, and in mixed precision also `copy`.
std::vector<std::string> parameter_kinds(const StepEvidence& now);

/// These, and the kinds of optimizer state: moment1 and moment2 for AdamW, moment1 for SGD with momentum. For an
/// optimizer that the record format does not name: the kinds that the reference has in the step.
std::vector<std::string> state_kinds(const StepEvidence& now);

/// True if the reference's step leaves the parameter as it was.
bool is_unchanged(const StepEvidence& now, const std::string& parameter);

/// True if, by external records, no loss of the step depends on the parameter: neither has a gradient of it, and the
/// reference's update leaves it unchanged.
bool unused(const StepEvidence& now, const std::string& parameter);

/// True if the optimizer's formula is unknown or has variants: moments then have any shape, and may be missing.
bool moments_vary(const Manifest& manifest);

/// The reason why a tensor should not be there. `of_reference`: it is the reference's.
std::string why_no_such_tensor(const StepEvidence& now, const Fact& fact, bool of_reference);

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
