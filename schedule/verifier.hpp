// SPDX-License-Identifier: BSD-3-Clause
// Static checks of a schedule: nothing is run, every message says rank, position (from 0), action, and what to do.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/execution_model.hpp"
#include "schedule/finding.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

/// The compute actions: each stage on its rank does each microbatch's F once, then B once, or I once and W once after
/// it; nothing out of range, nothing twice, no other action. Cross-rank order is `lower`'s to find.
std::vector<Finding> find_incomplete(const Schedule& compute_only);

/// The same, and whether the lists wait for each other in a circle: none found, `lower` takes them.
std::vector<Finding> find_faults(const Schedule& compute_only);

struct VerifyOptions {
  ExecutionModel model = ExecutionModel::blocking;
  /// Demands what `lower` puts at the end: STEP once a rank, last; REDUCE as `tied` asks. Nothing: neither is looked
  /// at.
  std::optional<bool> tied = std::nullopt;
  bool ascending = false;                                 ///< gradients of each stage in ascending microbatch order
  std::optional<std::int64_t> slot_limit = std::nullopt;  ///< most slots a rank may hold
};

/// All rules on lists with messages; no finding: safe under the model. Whether ranks wait for each other is looked at
/// only when nothing else was found. At most Findings::limit findings. Linear in the number of actions.
std::vector<Finding> verify(const Schedule& lowered, const VerifyOptions& options = {});

/// Throws InputError with the first finding of find_incomplete.
void verify_complete(const Schedule& compute_only);

/// Throws InputError with the first finding under ExecutionModel::blocking. Safe there is safe under any looser model.
void verify_blocking(const Schedule& lowered);

/// Most (stage, microbatch) pairs of one list between the start of their F and the end of their last backward action (B
/// or W).
std::int64_t peak_slots(const ActionList& list);

/// Whether every stage sums its gradients (B, W) in ascending microbatch order.
bool accumulates_ascending(const Schedule& schedule);

}  // namespace plumbline
