// SPDX-License-Identifier: BSD-3-Clause
// From a sweep file to its cases and their shared references.
#pragma once

#include <string>
#include <vector>

#include "harness/sweep/planned_run.hpp"
#include "harness/sweep/sweep_options.hpp"

namespace plumbline {

/// The matrix run x optimizer x schedule x world size, then the extra cases. A case's id is
/// "<run>[-<optimizer>]-<schedule>-w<world>", with "-<partition>", "-balance-2-0-3", "-lengths-<hash>" if the case
/// changes these. A schedule file appears by its name and is combined only with the world size that it has rows for.
/// Run files of one name in several folders are prefixed by the folder's name. For users' commands an
/// id is "[<key>-<value>-...]<schedule>-w<world>": the case's own values, then schedule and ranks. Throws InputError: a
/// balance that does not match layers or world size, an invalid schedule file, a [[cell]] whose schedule does not
/// support these sizes or a matrix of only such cases, two cases of one id, a `repeat` without a case, a missing
/// program.
SweepPlan make_plan(const SweepFile& sweep);

/// Keeps the selected cases (cell_patterns.hpp) and their references. Throws InputError naming what matches no case,
/// with similar ids.
SweepPlan select_cells(const SweepPlan& plan, const std::vector<std::string>& wanted);

/// Keeps every `shard.of`-th case of a plan, beginning with the `shard.number`-th, and their references.
SweepPlan select_shard(const SweepPlan& plan, const Shard& shard);

}  // namespace plumbline
