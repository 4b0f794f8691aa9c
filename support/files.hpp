// SPDX-License-Identifier: BSD-3-Clause
// Whole files, written so that a reader never sees half of one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace plumbline {

/// The file's bytes. Throws InputError naming it when it cannot be read.
std::string read_file(const std::filesystem::path& path);

/// Bytes of a regular file. Same errors as read_file.
std::size_t file_bytes(const std::filesystem::path& path);
/// Fills `into` with the bytes from `offset` on; returns how many there were. The file is open only meanwhile, so that
/// any number of files can be read side by side. Same errors.
std::size_t read_file_at(const std::filesystem::path& path, std::size_t offset, std::span<char> into);

/// Writes to a temporary name beside `path`, syncs, renames. Throws SystemError (disk full, no rights), leaving the old
/// file as it was. A target that is no regular file (a device, a pipe) is written to directly.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// The same for a file given in pieces, so that a large one need not stand in memory twice.
void write_file_pieces(const std::filesystem::path& path, std::span<const std::string_view> pieces);
/// The same with pieces that are made one at a time: `piece(i)` is needed only until the next call.
void write_file_pieces(const std::filesystem::path& path, std::size_t pieces,
                       const std::function<std::string_view(std::size_t)>& piece);

/// What to do where a write failed with this errno.
std::string advice_on_writing(int error);
/// Throws SystemError with that and the path.
[[noreturn]] void fail_writing(const std::filesystem::path& path, int error);

/// Makes the folder and its parents. Throws SystemError.
void make_folder(const std::filesystem::path& path);

}  // namespace plumbline
