// From a sweep file to the cells it stands for and the references they share.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/judge/cell_plan.hpp"
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
};

struct PlannedCell {
  CellPlan plan;  ///< `command` and the findings are filled in when it runs
  std::filesystem::path run;
  RunChanges changes;
  std::string schedule;       ///< a name, or a CSV file's path
  Placement placement = {};   ///< of its stages on ranks
  std::size_t reference = 0;  ///< index into SweepPlan::references
};

struct SweepPlan {
  std::vector<PlannedReference> references;
  std::vector<PlannedCell> cells;
  /// Cells of the matrix that the schedule cannot have, "<id>: <why, and what would fit>".
  std::vector<std::string> not_applicable;
};

/// The matrix run x optimizer x schedule x world size, then the extra cells. A cell's id is
/// "<run>[-<optimizer>]-<schedule>-w<world>", with
/// "-<partition>", "-balance-2-0-3", "-lengths-<hash>" where the cell changes these; a schedule file stands in it with
/// its name, and meets the one world size that it has rows for. Run files of one name in several folders have the
/// folder's name before their own. With the key audit come cells at level dump, "-dump" in their ids. Throws
/// InputError: a balance that does not fit layers or world size, a schedule file that is no sound schedule, a [[cell]]
/// whose schedule cannot have these sizes or a matrix of nothing else, two cells of one id, a `repeat` that names no
/// cell.
SweepPlan make_plan(const SweepFile& sweep);

/// Keeps the cells named (cell_patterns.hpp) and the references that they need. Throws InputError naming what is no
/// cell's, and what comes near.
SweepPlan select_cells(const SweepPlan& plan, const std::vector<std::string>& wanted);

}  // namespace plumbline
