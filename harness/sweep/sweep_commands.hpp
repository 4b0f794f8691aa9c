// SPDX-License-Identifier: BSD-3-Clause
// The command lines that a sweep names to people: each runs as it is, in the same working folder.
#pragma once

#include <filesystem>
#include <string>

#include "harness/sweep/sweep_options.hpp"

namespace plumbline {

/// Runs one cell of this sweep again, into a folder of its own.
std::string command_of_cell(const SweepOptions& options, const std::string& cell);

/// Goes on with the sweep in `folder`, with all that was given to it.
std::string resume_command(const SweepOptions& options, const std::filesystem::path& folder);

}  // namespace plumbline
