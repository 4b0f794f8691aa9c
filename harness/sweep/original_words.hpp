// SPDX-License-Identifier: BSD-3-Clause
// A trainer's words about a copy of a run file, told of the file itself.
#pragma once

#include <filesystem>
#include <string>

namespace plumbline {

/// The user's run file in place of the copy, whose lines are others; before the words, where they do not name it.
std::string with_original(std::string words, const std::filesystem::path& copy, const std::filesystem::path& original);

}  // namespace plumbline
