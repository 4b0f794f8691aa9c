// SPDX-License-Identifier: BSD-3-Clause
// Lists with their own order of messages, and the transport on which they may deadlock.
#pragma once

#include <optional>

#include "schedule/execution_model.hpp"
#include "schedule/list_finding.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

/// A finding at the first message that is not where `lower` would place it, for a transport on which that may deadlock
/// although `verify` finds nothing; null for all other models. `lowered` must be complete, with its ending, and without
/// findings of `verify`.
///
/// NCCL transfers all messages of a batch between two ranks as one group with one event after it: a RECV does not
/// complete before a SEND of the same group is matched. `pair_direction` assumes that it does, so a list that is safe
/// under that model may deadlock. Blocking-safe lists, as `lower` makes them, are safe there too.
std::optional<ListFinding> find_own_messages(const Schedule& lowered, bool tied, ExecutionModel model);

}  // namespace plumbline
