// SPDX-License-Identifier: BSD-3-Clause
// Lowers compute-only lists to executable lists: adds messages, REDUCE and STEP.
#pragma once

#include "schedule/schedule.hpp"

namespace plumbline {

/// The lists with SEND_*, RECV_*, then, if `tied` and there are several stages, REDUCE once on the ranks of the first
/// and last stage (once in total, under the first stage, if one rank holds both), and STEP once per rank under its
/// lowest stage. A RECV is placed at the time of its SEND; two stages of one rank exchange no message. Blocking-safe.
/// Throws InputError if the lists wait for each other in a cycle.
Schedule lower(const Schedule& compute_only, bool tied);
/// Adds messages only, for any compute actions.
Schedule with_messages(const Schedule& compute_only);
/// Adds REDUCE and STEP at the lists' ends, as `lower` does.
void add_ending(Schedule& lowered, bool tied);

}  // namespace plumbline
