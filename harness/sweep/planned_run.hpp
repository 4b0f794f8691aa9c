// SPDX-License-Identifier: BSD-3-Clause
// What a sweep is going to run: references, the cells that are compared with them, and which cannot be.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/cell_plan.hpp"
#include "harness/sweep/planned_command.hpp"
#include "harness/sweep/sweep_file.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

/// One training on one device; it serves every cell that trains the same, whatever its world size, schedule and
/// partition, and sums its gradients in the same order.
struct PlannedReference {
  std::string id;
  std::filesystem::path run;
  RunChanges changes;
  std::string accumulation = {};  ///< a CSV of unit and microbatch: the order of summing gradients; empty = ascending
  std::optional<PlannedCommand> command = {};  ///< of the user's own; `run` is then the sweep file
  bool splits_backward = false;                ///< one of the sweep's cells that it serves does, selected or not
};

/// What a cell that goes on with a run begins with: the run until it is stopped.
struct PlannedStart {
  std::int64_t steps = 0;  ///< after which it is stopped
  std::int64_t world = 0;
  std::string schedule;  ///< a name, a CSV file's path, or by_the_reference
};

struct PlannedCell {
  CellPlan plan;  ///< `command` and the findings are filled in when it runs
  std::filesystem::path run;
  RunChanges changes;
  std::string schedule;       ///< a name, or a CSV file's path
  Placement placement = {};   ///< of its stages on ranks
  std::size_t reference = 0;  ///< index into SweepPlan::references
  std::optional<PlannedStart> goes_on_with = {};
  std::optional<PlannedCommand> command = {};  ///< of the user's own; `run` is then the sweep file
};

struct SweepPlan {
  std::vector<PlannedReference> references;
  std::vector<PlannedCell> cells;
  /// Cells of the matrix that the schedule cannot have, "<id>: <why, and what would fit>".
  std::vector<std::string> not_applicable;
};

}  // namespace plumbline
