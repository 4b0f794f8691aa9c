// SPDX-License-Identifier: BSD-3-Clause
// The place of a fact in the execution order of one device.
#pragma once

#include <cstdint>
#include <string>

#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/execution_order.hpp"
#include "harness/judge/facts/fact.hpp"

namespace plumbline::judging {

ExecutionPoint point_of(const StepEvidence& now, const Fact& fact);

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
