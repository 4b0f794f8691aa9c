// SPDX-License-Identifier: BSD-3-Clause
// exit.json: the last that a rank writes.
#pragma once

#include <filesystem>
#include <optional>

#include "record/rows.hpp"

namespace plumbline {

/// Throws SystemError.
void write_exit_file(const std::filesystem::path& path, const ExitFile& exit);
/// Nothing when the file is not there (a rank killed outright). Throws InputError naming file and key.
std::optional<ExitFile> read_exit_file(const std::filesystem::path& path);

/// It did what it was to do: also where that was to stop after some step.
bool ended_well(const ExitFile& exit);

}  // namespace plumbline
