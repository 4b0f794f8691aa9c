// SPDX-License-Identifier: BSD-3-Clause
// Simulates the messages of lowered lists, without data: does every rank reach its end?
#pragma once

#include "schedule/list_finding.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

/// Adds one finding, which spells out the cycle, if ranks wait for each other. A SEND and a RECV are posted and do not
/// wait; a compute action waits for its input. Requires lists without other findings:
/// every message has two ends, and inputs precede their uses. Linear in the number of actions.
void check_deadlock(const Schedule& lowered, ListFindings& findings);

}  // namespace plumbline
