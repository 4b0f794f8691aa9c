// SPDX-License-Identifier: BSD-3-Clause
// A short identity of a file's content.
#pragma once

#include <filesystem>
#include <string>

namespace plumbline {

/// Hash of a file's bytes; above 64 MiB, of its size and modification time; for a folder, of its files (a model in
/// several). "missing" if it cannot be read.
std::string file_hash(const std::filesystem::path& path);

}  // namespace plumbline
