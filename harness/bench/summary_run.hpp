// SPDX-License-Identifier: BSD-3-Clause
// A user's run file for a bench: times and bytes are recorded, no tensors.
#pragma once

#include <filesystem>
#include <string>

namespace plumbline {

/// The run file's text with record level summary in place of its own, and with paths that hold wherever the text lies.
/// Throws InputError naming the file: not readable, not TOML.
std::string summary_run(const std::filesystem::path& run);

}  // namespace plumbline
