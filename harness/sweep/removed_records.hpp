// SPDX-License-Identifier: BSD-3-Clause
// Removal of records and dumps of passing cases at the end of a sweep; their verdicts stay.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "harness/sweep/sweep_folder.hpp"
#include "harness/sweep/sweep_plan.hpp"

namespace plumbline {

/// True if --keep failures removed the record; the run must then be repeated to be judged again.
bool record_was_removed(const std::filesystem::path& record);

/// Removes the records (with repeats and replays) of every case that held at the first attempt, and of every reference
/// all of whose cases did. A file states the reason, and the results about a reference are kept next to it. Throws
/// SystemError naming what cannot be removed.
void remove_records_that_hold(const SweepPlan& plan, const Verdict& verdict, const SweepFolder& folder);

/// The results about a reference whose record was removed, and its machine, as a verdict; nullopt if the record exists.
/// Throws InputError if the file was modified.
std::optional<Verdict> kept_of_reference(const std::filesystem::path& record);

}  // namespace plumbline
