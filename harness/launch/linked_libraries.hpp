// SPDX-License-Identifier: BSD-3-Clause
// The shared libraries that a program would load here.
#pragma once

#include <filesystem>
#include <vector>

namespace plumbline {

/// From ldd, sorted; empty for a program that is not dynamic (a script), or without ldd.
std::vector<std::filesystem::path> linked_libraries(const std::filesystem::path& program);

}  // namespace plumbline
