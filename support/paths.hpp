// SPDX-License-Identifier: BSD-3-Clause
// Questions about paths that a user gave, answered with an error that names the path where there is no answer.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plumbline {

/// Whether something stands there. Throws InputError where that cannot be told: a circle of symbolic links, a name that
/// is too long, a folder without rights.
bool path_exists(const std::filesystem::path& path);
/// Whether it is a folder; throws as path_exists does.
bool folder_exists(const std::filesystem::path& path);

/// The files that a name stands for, in ascending order of the names' bytes: itself, or, where none is called so and it
/// holds *, ? or [, those that match it as in a shell. None: nothing matches. Throws InputError where a folder on the
/// way cannot be read.
std::vector<std::filesystem::path> files_matching(const std::filesystem::path& pattern);

/// The folder that the running program lies in: what is built together lies together.
std::filesystem::path program_folder();

/// The system's folder for temporary files. Throws InputError when TMPDIR names none.
std::filesystem::path temporary_folder();

/// A new folder there, whose name begins so. Throws SystemError.
std::filesystem::path make_temporary_folder(const std::string& name);

}  // namespace plumbline
