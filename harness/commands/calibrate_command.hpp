// SPDX-License-Identifier: BSD-3-Clause
// `plumbline calibrate` on the command line.
#pragma once

#include <CLI/App.hpp>
#include <filesystem>
#include <functional>

namespace plumbline {

/// Adds the command; what is returned runs it and gives the exit code. `trainers`: where plumbline-reference lies
/// unless told.
std::function<int()> add_calibrate_command(CLI::App& app, const std::filesystem::path& trainers);

}  // namespace plumbline
