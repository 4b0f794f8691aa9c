// SPDX-License-Identifier: BSD-3-Clause
// `plumbline sweep`, `plumbline merge` and `plumbline judge`: the commands that write a sweep's verdict.
#pragma once

#include <CLI/App.hpp>
#include <filesystem>
#include <functional>

#include "support/json.hpp"

namespace plumbline {

/// Adds them to `app`. The returned function runs the parsed one. `program`: as the user calls it; `trainers`: the
/// default folder of the trainers; `harness`: version and commit of this program.
std::function<int()> add_sweep_command(CLI::App& app, const std::string& program, const std::filesystem::path& trainers,
                                       const Json& harness);
std::function<int()> add_merge_command(CLI::App& app, const Json& harness);
std::function<int()> add_judge_command(CLI::App& app, const Json& harness);

}  // namespace plumbline
