// SPDX-License-Identifier: BSD-3-Clause
// What runs and sweeps are called in reports, and in the names of folders.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace plumbline {

/// Of a file without a name of its own: "a" of x/a.toml; "x/run" of x/run.toml, since files of everybody are called
/// run, sweep, config, ...
std::string name_of_file(const std::filesystem::path& file);

/// A name as a part of an id, which is a folder's name: what may not stand in one becomes a dash.
std::string part_of_id(const std::string& name);

/// The key `name` of a run or sweep file. Throws InputError, with `where`, for one that is no name.
std::string checked_name(const std::string& name, const std::string& where);

/// A run file's own name; nothing where it gives none. Throws InputError: not readable, not TOML, no name.
std::optional<std::string> name_in_run_file(const std::filesystem::path& run);

}  // namespace plumbline
