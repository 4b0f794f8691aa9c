// SPDX-License-Identifier: BSD-3-Clause
// `plumbline bench`: the speed of a sweep file's cases relative to their references.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "support/json.hpp"

namespace CLI {
class App;
}

namespace plumbline {

/// Adds the subcommand. The returned function runs it after parsing. Exit codes: 0 measured, quiet or not; 1 a
/// reference or a case failed; 2 bad input.
std::function<int()> add_bench_command(CLI::App& app, const std::string& program, const std::filesystem::path& trainers,
                                       const Json& harness);

}  // namespace plumbline
