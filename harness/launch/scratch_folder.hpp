// SPDX-License-Identifier: BSD-3-Clause
// A folder for temporary files of launchers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace plumbline {

/// Holds Open MPI's session and shared-memory segments, separately for each run. Removed with its contents at the end;
/// folders of a plumbline that was killed by SIGKILL are removed when the next one is created.
class ScratchFolder {
 public:
  /// Creates it in the first of `parents` that is writable and has enough free bytes. `before_lock`, for tests, is
  /// called between the creation of the folder and of the lock that protects it from other plumblines. Throws
  /// SystemError if the parent does not exist.
  explicit ScratchFolder(std::int64_t bytes = 0, const std::vector<std::filesystem::path>& parents = default_parents(),
                         const std::function<void(const std::filesystem::path&)>& before_lock = {});
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

  /// Upper bound of the size of Open MPI's session and segments for this number of ranks on one machine. With less
  /// space ranks do not start, wait forever, or die of SIGBUS when a page of a segment cannot be allocated.
  static std::int64_t bytes_for(std::int64_t ranks);
  /// /dev/shm first: segments should be in memory, and its path is short (Open MPI's socket paths must stay below 108
  /// characters).
  static std::vector<std::filesystem::path> default_parents();

 private:
  std::string path_;
  int lock_ = -1;  ///< lock held until this process ends; -1 if the file system has no locks
};

}  // namespace plumbline
