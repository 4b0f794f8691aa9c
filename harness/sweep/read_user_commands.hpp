// SPDX-License-Identifier: BSD-3-Clause
// Reads the keys of a sweep file that starts trainers which are not Plumbline's: reference, candidate, environment,
// values, and what is asked of every run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/sweep/user_commands.hpp"
#include "support/toml.hpp"

namespace plumbline {

/// Keys of the file that go with commands alone; and those that go with run files alone.
const std::vector<std::string>& command_keys();
const std::vector<std::string>& run_file_keys();

/// Whether the file starts commands of the user's own. Throws InputError where it has keys of both kinds.
bool starts_commands(const TomlTable& file);

/// The file's commands and their cells: the matrix of schedules and world sizes, then the [[cell]] tables. Throws
/// InputError: a command that is missing or empty, a placeholder that there is not, a value that no command uses, a
/// command that writes every run to one place or starts every world alike.
UserCommands read_user_commands(const TomlTable& file, const std::filesystem::path& folder);

}  // namespace plumbline
