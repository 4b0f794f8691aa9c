// SPDX-License-Identifier: BSD-3-Clause
// A user's run file for a benchmark, which records times and bytes but no tensors.
#pragma once

#include <filesystem>
#include <string>

namespace plumbline {

/// The run file's text with record level summary and absolute paths. Throws InputError naming the file: not readable,
/// not TOML.
std::string summary_run(const std::filesystem::path& run);

}  // namespace plumbline
