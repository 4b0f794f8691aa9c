// SPDX-License-Identifier: BSD-3-Clause
// `plumbline record check`: one record, alone.
#pragma once

#include <CLI/App.hpp>
#include <functional>

namespace plumbline {

/// Adds the command. The returned function runs it and returns the exit code: 0 holds, 1 something was found.
/// Throws InputError for a record that cannot be read.
std::function<int()> add_record_command(CLI::App& app);

}  // namespace plumbline
