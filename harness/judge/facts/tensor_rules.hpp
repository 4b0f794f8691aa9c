// SPDX-License-Identifier: BSD-3-Clause
// Which tensors of a parameter a record has in a step.
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

}  // namespace plumbline::judging
