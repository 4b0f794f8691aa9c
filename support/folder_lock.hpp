// SPDX-License-Identifier: BSD-3-Clause
// A lock: one program at a time writes to a folder of results.
#pragma once

#include <filesystem>

namespace plumbline {

/// Released by the destructor or when the process ends in any way. Two programs in one folder would mix their records.
class FolderLock {
 public:
  /// Throws InputError if another process holds the lock, SystemError if the folder cannot be opened. On a file system
  /// without locks it only warns, once in this process.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int lock_ = -1;
};

}  // namespace plumbline
