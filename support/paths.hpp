// Questions about paths that a user gave, answered with an error that names the path where there is no answer.
#pragma once

#include <filesystem>

namespace plumbline {

/// Whether something stands there. Throws InputError where that cannot be told: a circle of symbolic links, a name that
/// is too long, a folder without rights.
bool path_exists(const std::filesystem::path& path);
/// Whether it is a folder; throws as path_exists does.
bool folder_exists(const std::filesystem::path& path);

/// The system's folder for temporary files. Throws InputError when TMPDIR names none.
std::filesystem::path temporary_folder();

}  // namespace plumbline
