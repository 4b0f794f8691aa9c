// SPDX-License-Identifier: BSD-3-Clause
// Runs the messages of lowered lists under an execution model, without data: does every rank reach its end?
#pragma once

#include "schedule/execution_model.hpp"
#include "schedule/finding.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

/// Adds one finding, with the circle spelled out, when ranks wait for each other. Expects lists without any other
/// finding: each message has its two ends, inputs stand before their use. Linear in the number of actions.
void check_deadlock(const Schedule& lowered, ExecutionModel model, Findings& findings);

}  // namespace plumbline
