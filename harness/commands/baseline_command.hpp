// SPDX-License-Identifier: BSD-3-Clause
// `plumbline baseline`: saves a sweep's results and resource use, and compares later sweeps with them.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace plumbline {

/// Adds the subcommand. The returned function runs it after parsing. Exit codes: 0 equal, or changed as allowed; 1
/// changed; 2 bad input; 3 nothing comparable.
std::function<int()> add_baseline_command(CLI::App& app);

}  // namespace plumbline
