// SPDX-License-Identifier: BSD-3-Clause
// `plumbline bench`: how fast a sweep file's cells are, beside their references.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "support/json.hpp"

namespace CLI {
class App;
}

namespace plumbline {

/// Adds the subcommand; what is returned runs it after parsing. Exit codes: 0 measured, quiet or not; 1 a reference or
/// a cell did not end well; 2 bad input.
std::function<int()> add_bench_command(CLI::App& app, const std::string& program, const std::filesystem::path& trainers,
                                       const Json& harness);

}  // namespace plumbline
