// SPDX-License-Identifier: BSD-3-Clause
// Reads the keys of a sweep file with users' commands: reference, candidate, environment, values, and the request.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/sweep/planned_command.hpp"
#include "support/toml.hpp"

namespace plumbline {

/// True if the file has users' commands. Throws InputError if it has keys of both kinds.
bool starts_commands(const TomlTable& file);

/// The file's commands and their cases: the matrix of schedules and world sizes, then the [[cell]] tables. Throws
/// InputError: a missing or empty command, an unknown placeholder, an unused value, a command whose output path is the
/// same for every run, or that ignores the world size.
UserCommands read_user_commands(const TomlTable& file, const std::filesystem::path& folder);

}  // namespace plumbline
