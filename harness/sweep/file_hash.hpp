// SPDX-License-Identifier: BSD-3-Clause
// What a file holds, in few characters.
#pragma once

#include <filesystem>
#include <string>

namespace plumbline {

/// Of a file's bytes; of one above 64 MiB, of its size and time of change; of a folder, of the files that lie in it (a
/// model in several). "missing" where it cannot be read.
std::string file_hash(const std::filesystem::path& path);

}  // namespace plumbline
