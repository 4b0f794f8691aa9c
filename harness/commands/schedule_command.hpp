// SPDX-License-Identifier: BSD-3-Clause
// `plumbline schedule list|show|check|simulate|convert`: schedules as data.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <memory>

namespace plumbline {

/// Adds the command with its subcommands. The returned function runs the parsed one and returns
/// the exit code: 0 holds, 1 `check` found something. Throws InputError for unreadable files.
std::function<int()> add_schedule_command(CLI::App& app);

}  // namespace plumbline
