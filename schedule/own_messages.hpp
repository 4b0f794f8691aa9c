// SPDX-License-Identifier: BSD-3-Clause
// Lists with messages in an order of their own, and the transport that may hang on them.
#pragma once

#include <optional>

#include "schedule/execution_model.hpp"
#include "schedule/finding.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

/// Where a list's messages first stand otherwise than `lower` puts them, as a finding, under the model of a transport
/// that may hang on that although `verify` finds nothing; nothing under every other model. `lowered`: complete, with
/// its ending, and without a finding of `verify`.
///
/// NCCL moves all messages of a batch between two ranks as one group with one event behind it: a RECV does not end
/// before the SEND beside it is matched. `pair_direction` says that it does, so a list that is safe under that model
/// may wait for ever. Blocking-safe lists, as `lower` makes them, are safe there too.
std::optional<Finding> find_own_messages(const Schedule& lowered, bool tied, ExecutionModel model);

}  // namespace plumbline
