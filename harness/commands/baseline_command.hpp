// SPDX-License-Identifier: BSD-3-Clause
// `plumbline baseline`: what a sweep computed and took, kept, and held against what a later one does.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace plumbline {

/// Adds the subcommand; what is returned runs it after parsing. Exit codes: 0 equal, or changed as allowed; 1 changed;
/// 2 bad input; 3 nothing comparable.
std::function<int()> add_baseline_command(CLI::App& app);

}  // namespace plumbline
