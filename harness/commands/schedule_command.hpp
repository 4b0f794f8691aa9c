// SPDX-License-Identifier: BSD-3-Clause
// `plumbline schedule list|show|check|simulate|convert`: schedules as data.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <memory>

namespace plumbline {

/// Adds the command with its own sub-commands; the function that comes back runs the one that was parsed and returns
/// the exit code: 0 holds, 1 `check` found something. Throws InputError for what cannot be read.
std::function<int()> add_schedule_command(CLI::App& app);

}  // namespace plumbline
