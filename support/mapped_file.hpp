// SPDX-License-Identifier: BSD-3-Clause
// A file's bytes as memory: read from the disk where they are looked at, and nowhere else.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace plumbline {

/// Read-only, for as long as it lives. Pages that were looked at are the system's to take back.
class MappedFile {
 public:
  /// Throws InputError naming a path that is not there, is no regular file, or cannot be mapped (a limit of addresses,
  /// ulimit -v).
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }

 private:
  void* address_ = nullptr;  ///< null for an empty file
  std::size_t size_ = 0;
};

}  // namespace plumbline
