// Whole files, written so that a reader never sees half of one.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace plumbline {

/// The file's bytes. Throws InputError naming it when it cannot be read.
std::string read_file(const std::filesystem::path& path);

/// Writes to a temporary name beside `path`, syncs, renames. Throws SystemError (disk full, no rights), leaving the old file as it was.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// Makes the folder and its parents. Throws SystemError.
void make_folder(const std::filesystem::path& path);

}  // namespace plumbline
