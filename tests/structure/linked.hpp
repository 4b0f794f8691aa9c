// SPDX-License-Identifier: BSD-3-Clause
// What a program loads when it starts, as the dynamic loader reports it.
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace plumbline::structure {

/// File names of all shared libraries that `program` loads at its start, directly or through other libraries.
/// Throws std::runtime_error if the program does not exist, cannot be run, or lacks a library.
std::set<std::string> loaded_libraries(const std::filesystem::path& program);

}  // namespace plumbline::structure
