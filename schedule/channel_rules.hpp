// SPDX-License-Identifier: BSD-3-Clause
// Rules about two lists, or about the end of a list.
#pragma once

#include "schedule/list_finding.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

/// Both ends of a channel (pair of ranks and direction of the message) must have the same order, since messages carry
/// no tag. Requires that every SEND has its RECV.
void check_channel_order(const Schedule& lowered, ListFindings& findings);

/// STEP once per rank and last; REDUCE once, right before it, on the ranks that hold a use of the tied weight.
void check_ending(const Schedule& lowered, bool tied, ListFindings& findings);

/// Each stage's B or W in ascending microbatch order.
void check_accumulation(const Schedule& schedule, ListFindings& findings);

}  // namespace plumbline
