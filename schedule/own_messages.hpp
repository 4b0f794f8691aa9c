// SPDX-License-Identifier: BSD-3-Clause
// Lists with their own order of messages, and the transport on which they may deadlock.
#pragma once

#include <optional>
#include <string>

#include "schedule/list_finding.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

/// For the transport nccl, a finding at the first message that is not where `lower` would place it; else null.
/// `lowered` must be complete, with its ending, and without findings of `verify`.
///
/// mpi and threads: a rank posts its messages and continues; only a compute action waits, for its receive. Each
/// (sender, receiver, direction) has its own queue, and both of its ends have the same order (Rule::channel_order), so
/// a rank waits only for a sender that has not reached its SEND: `verify` finds every deadlock.
///
/// nccl: a pair of ranks has one stream for each direction, on which a rank's sends are queued after its earlier
/// receives, and all messages of a batch between two ranks are one group with one event after it: a RECV does not
/// complete before a SEND of the same group is matched. Lists whose SEND and RECV meet at the same time, as `lower`
/// makes them, are safe there.
std::optional<ListFinding> find_own_messages(const Schedule& lowered, bool tied, const std::string& transport);

}  // namespace plumbline
