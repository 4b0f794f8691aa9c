// `plumbline history`: what sweeps found over time, commit by commit.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace plumbline {

/// Adds the subcommand; what is returned runs it after parsing. Exit codes: 0 done, whatever was found; 2 bad input.
std::function<int()> add_history_command(CLI::App& app);

}  // namespace plumbline
