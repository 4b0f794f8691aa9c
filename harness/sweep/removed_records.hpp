// SPDX-License-Identifier: BSD-3-Clause
// Records of cells that hold, which go when a sweep is to keep failures alone; their verdicts stay.
#pragma once

#include <filesystem>
#include <optional>

#include "harness/sweep/sweep_folder.hpp"
#include "harness/sweep/sweep_plan.hpp"

namespace plumbline {

/// Whether a record was removed so: a run that is to be judged anew has to be made again.
bool record_was_removed(const std::filesystem::path& record);

/// Of every cell that held at once its record and that of its repeat, and the record of every reference all of whose
/// cells did. A file says why, and what was found of a reference stays beside it. Throws SystemError naming what cannot
/// be removed.
void remove_records_that_hold(const SweepPlan& plan, const Verdict& verdict, const SweepFolder& folder);

/// What was found of a reference whose record was removed, with the machine that it ran on: a verdict of it alone.
/// Nothing where its record is there. Throws InputError where what was kept is not as it was written.
std::optional<Verdict> kept_of_reference(const std::filesystem::path& record);

}  // namespace plumbline
