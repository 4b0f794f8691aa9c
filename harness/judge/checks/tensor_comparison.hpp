// SPDX-License-Identifier: BSD-3-Clause
// Compares the rows of tensors.csv of both records with each other and with the expected model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/judge/check_result_builder.hpp"
#include "harness/judge/evidence/cell_evidence.hpp"

namespace plumbline::judging {

/// True if neither record has a gradient of any parameter in this step, though some are trainable.
bool without_gradients(const StepEvidence& now);
/// The reason why gradients are then not judged, with advice for the trainer.
extern const char* const no_gradient_compared;

/// `parameter`, and in mixed precision also `copy`.
std::vector<std::string> parameter_kinds(const StepEvidence& now);

/// These, and the kinds of optimiser state: moment1 and moment2 for AdamW, moment1 for SGD with momentum. For an
/// optimiser that the record format does not name: the kinds that the reference has in the step.
std::vector<std::string> state_kinds(const StepEvidence& now);

/// Compares all rows of one kind in the step: each parameter is on the stage of its unit exactly once, finite in both
/// records, of equal dtype, shape and digest (in the mode calibrated: within its limit), and of equal statistics if the
/// digests are equal. If the optimiser's formula is unknown or has variants, both records may lack a parameter's
/// moment, which counts as inspected `absent_in_both`. Rows on other stages are differences, too. Counts tensors,
/// elements, nonzero_elements, ranks.
void compare_tensors(const StepEvidence& now, const std::string& kind, CheckResultBuilder& builder);

/// True if, by external records, no loss of the step depends on the parameter: neither has a gradient of it, and the
/// reference's update leaves it unchanged. Rows missing in both then count as inspected `absent_in_both`.
bool unused(const StepEvidence& now, const std::string& parameter);
inline constexpr const char* absent_in_both = "absent_in_both";

/// Rows of a step that are neither gradients nor of a kind in `kinds`: moments that the optimiser does not have, or
/// copies outside of mixed precision, in either record.
void report_moments_that_the_optimiser_lacks(const StepEvidence& now, const std::vector<std::string>& kinds,
                                             CheckResultBuilder& builder);

/// Advice where names differ, by wrapped modules or by counting from 0 in each stage; empty for our own records.
std::string names_hint(const Manifest& manifest);

/// "3 NaN and 1 infinity of 64 elements"; empty if the row is finite.
std::string not_finite_words(const TensorRow& row);

/// Position of a parameter's gradient by the order in which a forward pass uses parameters; gradients that the backward
/// pass computes later have smaller positions. `parameter`: its index in the model.
std::int64_t gradient_position(const ExpectedModel& model, const Manifest& candidate, std::size_t parameter);

/// The same for a row of any kind: the parameter's index for kinds other than gradients; 0 for no parameter of the
/// model.
std::int64_t position_of(const ExpectedModel& model, const Manifest& candidate, const std::string& kind,
                         const std::string& parameter);

/// The execution point of a parameter's row of this kind; `position`: see position_of.
ExecutionPoint tensor_point(std::int64_t step, const std::string& kind, std::int64_t position, std::int64_t stage);

}  // namespace plumbline::judging
