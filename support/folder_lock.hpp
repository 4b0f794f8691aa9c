// SPDX-License-Identifier: BSD-3-Clause
// One program at a time in a folder of results.
#pragma once

#include <filesystem>

namespace plumbline {

/// Held while it lives, however the process ends: two in one folder would mix their records.
class FolderLock {
 public:
  /// Throws InputError when another process holds it, SystemError when the folder cannot be opened.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int lock_ = -1;
};

}  // namespace plumbline
