// SPDX-License-Identifier: BSD-3-Clause
// Which shared libraries a program would be started with here.
#pragma once

#include <filesystem>
#include <vector>

namespace plumbline {

/// As ldd finds them, sorted; none for a program that is no dynamic one (a script), or where there is no ldd.
std::vector<std::filesystem::path> linked_libraries(const std::filesystem::path& program);

}  // namespace plumbline
