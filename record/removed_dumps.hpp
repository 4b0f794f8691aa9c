// SPDX-License-Identifier: BSD-3-Clause
// Removal of the dumps of an audited record at level dump. The tables stay, and a file states the reason.
#pragma once

#include <filesystem>
#include <string>

namespace plumbline {

/// File name in a record's folder, next to manifest.json.
inline constexpr const char* removed_dumps_name = "dumps-removed.txt";

bool dumps_were_removed(const std::filesystem::path& record);

/// Writes the file with these words, then removes the dumps of all ranks, so that a record always has one or the other.
/// Throws SystemError naming what cannot be written or removed.
void remove_dumps(const std::filesystem::path& record, const std::string& words);

}  // namespace plumbline
