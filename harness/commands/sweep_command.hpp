// SPDX-License-Identifier: BSD-3-Clause
// `plumbline sweep`, `plumbline merge` and `plumbline judge`: whatever makes or remakes a sweep's verdict.
#pragma once

#include <CLI/App.hpp>
#include <filesystem>
#include <functional>

#include "support/json.hpp"

namespace plumbline {

/// Adds it to `app`; the result runs what was chosen. `program`: as the user calls it; `trainers`: the folder of the
/// trainers where none is given; `harness`: version and commit of this program.
std::function<int()> add_sweep_command(CLI::App& app, const std::string& program, const std::filesystem::path& trainers,
                                       const Json& harness);
std::function<int()> add_merge_command(CLI::App& app, const Json& harness);
std::function<int()> add_judge_command(CLI::App& app, const Json& harness);

}  // namespace plumbline
