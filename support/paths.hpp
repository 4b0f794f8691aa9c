// SPDX-License-Identifier: BSD-3-Clause
// Queries on paths given by a user, with errors that name the path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

/// True if the path exists. Throws InputError if that cannot be determined: a cycle of symbolic links, a name that is
/// too long, a folder without permission.
bool path_exists(const std::filesystem::path& path);
/// True if it is a folder; throws as path_exists does.
bool folder_exists(const std::filesystem::path& path);

/// Expands a pattern, sorted by the names' bytes: the name itself if it exists, else, if it has *, ? or [, the files
/// that match as in a shell. Empty if nothing matches. Throws InputError if a folder on the path cannot be read.
std::vector<std::filesystem::path> files_matching(const std::filesystem::path& pattern);

/// Bytes that a user may still write there; nullopt if unknown. (libc++'s fs::space says 2^64 - 1 of a full disk.)
std::optional<std::uintmax_t> free_bytes(const std::filesystem::path& path);

/// The folder of the running program, which contains the other programs of its build.
std::filesystem::path program_folder();

/// The system's folder for temporary files. Throws InputError if TMPDIR names none.
std::filesystem::path temporary_folder();

/// Creates a new folder there whose name begins with the prefix. Throws SystemError.
std::filesystem::path make_temporary_folder(const std::string& name);

}  // namespace plumbline
