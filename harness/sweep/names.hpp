// SPDX-License-Identifier: BSD-3-Clause
// Names of runs and sweeps in reports and folders.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

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

}  // namespace plumbline
