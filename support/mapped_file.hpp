// SPDX-License-Identifier: BSD-3-Clause
// A memory-mapped file: only accessed pages are read from disk.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace plumbline {

/// A read-only mapping. The system may evict its pages.
class MappedFile {
 public:
  /// Throws InputError naming a path that does not exist, is no regular file, or cannot be mapped (limit of the address
  /// space, ulimit -v).
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
