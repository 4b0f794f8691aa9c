// SPDX-License-Identifier: BSD-3-Clause
// Command lines that a sweep prints for users; each works as printed, in the same working folder.
#pragma once

#include <filesystem>
#include <string>

#include "harness/sweep/sweep_options.hpp"

namespace plumbline {

/// Repeats one case of this sweep, in a separate folder.
std::string command_of_cell(const SweepOptions& options, const std::string& cell);

/// Resumes the sweep in `folder` with all its options.
std::string resume_command(const SweepOptions& options, const std::filesystem::path& folder);

}  // namespace plumbline
