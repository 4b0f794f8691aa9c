// SPDX-License-Identifier: BSD-3-Clause
// Static checks of a schedule: every message names rank, position (from 0), action, and remedy.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/list_finding.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

/// Checks the compute actions: each stage, on its rank, runs each microbatch's F once, then B once, or I once and then
/// W once; nothing out of range, twice, or of another type. Order across ranks is checked by `lower`.
std::vector<ListFinding> find_incomplete(const Schedule& compute_only);

/// The same, and whether the lists wait for each other in a cycle: without findings, `lower` accepts them.
std::vector<ListFinding> find_faults(const Schedule& compute_only);

struct VerifyOptions {
  /// Requires the ending that `lower` adds: STEP once per rank, last; REDUCE as `tied` says. Null: neither is checked.
  std::optional<bool> tied = std::nullopt;
  bool ascending = false;                                 ///< gradients of each stage in ascending microbatch order
  std::optional<std::int64_t> slot_limit = std::nullopt;  ///< most slots a rank may hold
};

/// Applies all rules to lists with messages; without findings no rank waits forever (find_own_messages: over NCCL).
/// Deadlocks are searched only if there is no other finding. Returns at most ListFindings::limit findings. Linear in
/// the number of actions.
std::vector<ListFinding> verify(const Schedule& lowered, const VerifyOptions& options = {});

/// Throws InputError with the first finding of find_incomplete.
void verify_complete(const Schedule& compute_only);

/// Maximum number of (stage, microbatch) pairs of one list between the start of F and the end of the last backward
/// action (B or W).
std::int64_t peak_slots(const ActionList& list);

/// Whether every stage sums its gradients (B, W) in ascending microbatch order.
bool accumulates_ascending(const Schedule& schedule);

}  // namespace plumbline
