// SPDX-License-Identifier: BSD-3-Clause
// Translates a trainer's messages about the copy of a run file to the original file.
#pragma once

#include <filesystem>
#include <string>

namespace plumbline {

/// Replaces the copy's path by the user's run file, without its line numbers, which differ; prepends the file if the
/// message does not name it.
std::string with_original(std::string words, const std::filesystem::path& copy, const std::filesystem::path& original);

}  // namespace plumbline
