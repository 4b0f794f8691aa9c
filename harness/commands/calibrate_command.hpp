// SPDX-License-Identifier: BSD-3-Clause
// `plumbline calibrate` on the command line.
#pragma once

#include <CLI/App.hpp>
#include <filesystem>
#include <functional>

namespace plumbline {

/// Adds the command. The returned function runs it and returns the exit code. `trainers`: the default folder of
/// plumbline-reference.
std::function<int()> add_calibrate_command(CLI::App& app, const std::filesystem::path& trainers);

}  // namespace plumbline
