// SPDX-License-Identifier: BSD-3-Clause
// Parts of a planned case: its id and what distinguishes it, in words; the lists of its schedule, what its stages must
// hold, and the order in which its reference sums.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/run_facts.hpp"
#include "harness/sweep/sweep_file.hpp"
#include "schedule/runnable.hpp"

namespace plumbline {

/// Throws InputError unless the run's balance, if it has one, fits the stages and the model. `facts.chunks`: stages on
/// each rank.
void check_balance(const RunFacts& facts, std::int64_t world);

/// The reason why the schedule does not support these sizes, with supported ones; nullopt if it does.
std::optional<std::string> why_not(const std::string& schedule, std::int64_t world, std::int64_t microbatches,
                                   std::int32_t chunks);

/// The case's lists, verified as in the trainer. Throws OtherSizes if the schedule does not support the case's sizes,
/// InputError for a file that is invalid for any.
RunnableSchedule schedule_of(const RunFacts& facts, const std::string& schedule, std::int64_t world);

bool splits_backward(const Schedule& schedule);

/// The reference's order of sums; empty for ascending. Throws InputError if it depends on the layers of each stage,
/// which only the trainer knows.
std::string accumulation_of(const RunFacts& facts, const Schedule& schedule);

/// Id of a training: "<run>[-<optimizer>][-lengths-<hash>]".
std::string training_id(const std::string& run, const RunChanges& changes);

/// For a file, its name.
std::string schedule_name(const std::string& schedule);

/// A case's other changes than optimizer and balance, in words.
std::string variant_of(const ExtraCell& cell);

/// The run file's key `name`, else "a" for x/a.toml, as a part of an id.
std::string own_name(const std::filesystem::path& run);

/// own_name() of each run file of the sweep; if several share it, prefixed by as many parent folders as necessary:
/// "x-a".
std::map<std::filesystem::path, std::string> names_of_runs(const SweepFile& sweep);

}  // namespace plumbline
