// SPDX-License-Identifier: BSD-3-Clause
// What a program loads when it starts, as the dynamic loader itself tells.
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace plumbline::structure {

/// File names of all shared libraries that `program` loads at its start, those of its libraries included.
/// Throws std::runtime_error when the program is not there, cannot be asked, or lacks a library.
std::set<std::string> loaded_libraries(const std::filesystem::path& program);

}  // namespace plumbline::structure
