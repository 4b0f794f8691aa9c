// SPDX-License-Identifier: BSD-3-Clause
// Simulates the messages of lowered lists under an execution model, without data: does every rank reach its end?
#pragma once

#include "schedule/execution_model.hpp"
#include "schedule/list_finding.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

/// Adds one finding, which spells out the cycle, if ranks wait for each other. Requires lists without other findings:
/// every message has two ends, and inputs precede their uses. Linear in the number of actions.
void check_deadlock(const Schedule& lowered, ExecutionModel model, ListFindings& findings);

}  // namespace plumbline
