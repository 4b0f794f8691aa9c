// SPDX-License-Identifier: BSD-3-Clause
// exit.json: the last file that a rank writes.
#pragma once

#include <filesystem>
#include <optional>

#include "record/rows.hpp"

namespace plumbline {

/// Throws SystemError.
void write_exit_file(const std::filesystem::path& path, const ExitFile& exit);
/// nullopt if the file does not exist (a rank that was killed). Throws InputError naming file and key.
std::optional<ExitFile> read_exit_file(const std::filesystem::path& path);

/// The rank completed, possibly by stopping after a requested step.
bool ended_well(const ExitFile& exit);

}  // namespace plumbline
