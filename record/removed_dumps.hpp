// SPDX-License-Identifier: BSD-3-Clause
// A record at level dump whose dumps were removed once they had been audited: its tables stay, and a file says why.
#pragma once

#include <filesystem>
#include <string>

namespace plumbline {

/// Of a record's folder, beside manifest.json.
inline constexpr const char* removed_dumps_name = "dumps-removed.txt";

bool dumps_were_removed(const std::filesystem::path& record);

/// Removes the dumps of all ranks and leaves the file with these words; first the file, so that a record is never
/// without both. Throws SystemError naming what cannot be written or removed.
void remove_dumps(const std::filesystem::path& record, const std::string& words);

}  // namespace plumbline
