// SPDX-License-Identifier: BSD-3-Clause
// From compute-only lists to those that a rank runs: messages, REDUCE and STEP put in.
#pragma once

#include "schedule/schedule.hpp"

namespace plumbline {

/// What the executor runs: the same lists with SEND_*, RECV_*, then, when `tied` and there are several stages, REDUCE
/// once on the ranks of the first and of the last stage (once in all, under the first stage, where one rank holds
/// both), and STEP once a rank under its lowest stage. A RECV stands where the sender's moment is; two stages of one
/// rank hand over without a message. Blocking-safe. Throws InputError where the lists wait for each other in a circle.
Schedule lower(const Schedule& compute_only, bool tied);
/// The same lists with their messages alone, of whatever compute actions they have.
Schedule with_messages(const Schedule& compute_only);
/// REDUCE and STEP at the lists' ends, as `lower` puts them there.
void add_ending(Schedule& lowered, bool tied);

}  // namespace plumbline
