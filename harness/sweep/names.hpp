// SPDX-License-Identifier: BSD-3-Clause
// Names of runs and sweeps in reports and folders, and the parts of the ids of cases.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/sweep_file.hpp"

namespace plumbline {

/// Name of a file without the key `name`: "a" for x/a.toml; "x/run" for x/run.toml, because run, sweep, config, ... are
/// common file names.
std::string name_of_file(const std::filesystem::path& file);

/// Converts a name to a part of an id: characters that are invalid in a folder's name become dashes.
std::string part_of_id(const std::string& name);

/// The key `name` of a run or sweep file. Throws InputError, with `where`, for an invalid name.
std::string checked_name(const std::string& name, const std::string& where);

/// The key `name` of a run file; nullopt if it has none. Throws InputError: not readable, not TOML, invalid name.
std::optional<std::string> name_in_run_file(const std::filesystem::path& run);

/// Id of a training: "<run>[-<optimizer>][-half][-lengths-<hash>][-dump]".
std::string training_id(const std::string& run, const RunChanges& changes);

/// For a file, its name.
std::string schedule_name(const std::string& schedule);

/// A case's other changes than optimiser and balance, in words.
std::string variant_of(const ExtraCell& cell);

/// "4-0-4".
std::string numbers_text(const std::vector<std::int64_t>& numbers);

/// The run file's key `name`, else "a" for x/a.toml, as a part of an id.
std::string own_name(const std::filesystem::path& run);

/// own_name() of each run file of the sweep; if several share it, prefixed by as many parent folders as necessary:
/// "x-a".
std::map<std::filesystem::path, std::string> names_of_runs(const SweepFile& sweep);

}  // namespace plumbline
