// SPDX-License-Identifier: BSD-3-Clause
// Whole files, written atomically: a reader never sees a partial one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace plumbline {

/// The most that is read of a file that people write: a run, sweep or schedule file, a config, a request.
inline constexpr std::size_t most_by_hand = std::size_t{16} << 20;
/// The largest JSON file that programs write and that grows with a run: manifests, verdicts, indices of weights.
inline constexpr std::size_t most_of_json = std::size_t{128} << 20;
/// The largest of other files that programs write: lists of actions, programs themselves.
inline constexpr std::size_t most_by_program = std::size_t{1} << 30;

/// The file's bytes. Throws InputError naming the file if it cannot be read, or before reading it if it has more than
/// `most`.
std::string read_file(const std::filesystem::path& path, std::size_t most = most_by_hand);

/// Throws InputError naming the file if `bytes` is more than `most`.
void refuse_larger(const std::filesystem::path& path, std::size_t bytes, std::size_t most);

/// Size of a regular file in bytes. Same errors as read_file.
std::size_t file_bytes(const std::filesystem::path& path);
/// Fills `into` with the bytes from `offset` on; returns their number. The file is open only during the call, so that
/// any number of files can be read alternately. Same errors.
std::size_t read_file_at(const std::filesystem::path& path, std::size_t offset, std::span<char> into);

/// Writes to a temporary name in the same folder, syncs, renames. Throws SystemError (disk full, no permission) and
/// leaves the old file unchanged. A target that is no regular file (a device, a pipe) is written directly.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// The same for a file in pieces, so that a large one need not be in memory: `piece(i)` is used until the next call.
void write_file_pieces(const std::filesystem::path& path, std::size_t pieces,
                       const std::function<std::string_view(std::size_t)>& piece);

/// Waits until the disk has a file's bytes or a folder's entries (a rename, say). Errors are ignored.
void sync_path(const std::filesystem::path& path);

/// Advice to the user after a write failed with this errno.
std::string advice_on_writing(int error);
/// Throws SystemError with the path and this advice.
[[noreturn]] void fail_writing(const std::filesystem::path& path, int error);

/// Creates the folder and its parents. Throws SystemError.
void make_folder(const std::filesystem::path& path);
/// Creates nothing. Throws SystemError as make_folder would, also if the folder exists and cannot be written to.
void require_folder_can_be_made(const std::filesystem::path& path);

}  // namespace plumbline
