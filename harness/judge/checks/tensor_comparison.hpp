// SPDX-License-Identifier: BSD-3-Clause
// Rows of tensors.csv of both records, held against each other and against what the model must have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/judge/evidence/step_evidence.hpp"
#include "harness/judge/judgement.hpp"

namespace plumbline::judging {

/// Whether neither record has a gradient of any parameter in this step, though some are trained.
bool without_gradients(const StepEvidence& now);
/// Why nothing is then judged of gradients, and what the trainer's own lines are to say.
extern const char* const no_gradient_compared;

/// `parameter`, and in mixed precision `copy` beside it.
std::vector<std::string> parameter_kinds(const StepEvidence& now);

/// The kinds that the optimiser of the manifest keeps: moment1 and moment2 for AdamW, moment1 for SGD with momentum.
/// For an optimiser that the record format does not name: those that the reference has in the step.
std::vector<std::string> moment_kinds(const StepEvidence& now);

/// Compares all rows of one kind in the step: each parameter on the stage that holds its unit, exactly once, finite in
/// both records, of equal dtype, shape and digest (in the calibrated tier: within its limit), and where the digest is
/// equal with equal statistics. Of an optimiser whose formula is not known, or of one that has several, both records
/// may lack a parameter's moment: it is looked at as `absent_in_both`. Rows that no stage should have diverge too.
/// Counts tensors, elements, nonzero_elements, ranks.
void compare_tensors(const StepEvidence& now, const std::string& kind, Judgement& judgement);

/// Whether no loss of the step depends on the parameter, by what external records say: neither has a gradient of it,
/// and the reference's update leaves it as it was. Where such a row is missing in both it is looked at as
/// `absent_in_both`.
bool unused(const StepEvidence& now, const std::string& parameter);
inline constexpr const char* absent_in_both = "absent_in_both";

/// Rows of a step that are of no kind in `kinds` nor gradients: moments that the optimiser does not keep, copies
/// outside of mixed precision, in either record.
void report_moments_that_the_optimiser_lacks(const StepEvidence& now, const std::vector<std::string>& kinds,
                                             Judgement& judgement);

/// Copies of a tied weight that differ from each other in bits, for this kind and step. Not asked of copies on GPUs of
/// different models in the calibrated tier.
void compare_tied_copies(const StepEvidence& now, const std::string& kind, Judgement& judgement);

/// "3 NaN and 1 infinity of 64 elements"; empty when the row is finite.
std::string not_finite_words(const TensorRow& row);

/// Of a parameter's gradient along the order in which a forward pass uses parameters; what is computed later in the
/// backward pass has the smaller one. `parameter`: its index in the model.
std::int64_t gradient_position(const ExpectedModel& model, const Manifest& candidate, std::size_t parameter);

/// The same for a row of any kind: of the others the parameter's index; 0 of no parameter of the model.
std::int64_t position_of(const ExpectedModel& model, const Manifest& candidate, const std::string& kind,
                         const std::string& parameter);

/// Where a parameter's row of this kind stands; `position`: see position_of.
ExecutionPoint tensor_point(std::int64_t step, const std::string& kind, std::int64_t position, std::int64_t stage);

}  // namespace plumbline::judging
