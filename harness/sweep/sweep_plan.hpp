// SPDX-License-Identifier: BSD-3-Clause
// From a sweep file to the cells it stands for and the references they share.
#pragma once

#include <string>
#include <vector>

#include "harness/sweep/planned_run.hpp"
#include "harness/sweep/sweep_options.hpp"

namespace plumbline {

/// The matrix run x optimizer x schedule x world size, then the extra cells. A cell's id is
/// "<run>[-<optimizer>]-<schedule>-w<world>", with
/// "-<partition>", "-balance-2-0-3", "-lengths-<hash>" where the cell changes these; a schedule file stands in it with
/// its name, and meets the one world size that it has rows for. Run files of one name in several folders have the
/// folder's name before their own. Of commands of the user's own: plan_of_commands (command_plan.hpp). With the key
/// audit come cells at level dump, "-dump" in their ids. Throws InputError: a balance that does not fit layers or world
/// size, a schedule file that is no sound schedule, a [[cell]] whose schedule cannot have these sizes or a matrix of
/// nothing else, two cells of one id, a `repeat` that names no cell.
SweepPlan make_plan(const SweepFile& sweep);

/// Keeps the cells named (cell_patterns.hpp) and the references that they need. Throws InputError naming what is no
/// cell's, and what comes near.
SweepPlan select_cells(const SweepPlan& plan, const std::vector<std::string>& wanted);

/// Of a plan's cells every `shard.of`-th, from the `shard.number`-th on, with the references that they need.
SweepPlan select_shard(const SweepPlan& plan, const Shard& shard);

}  // namespace plumbline
