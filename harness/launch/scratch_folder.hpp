// SPDX-License-Identifier: BSD-3-Clause
// A folder for what a launcher's programs put into temporary places.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace plumbline {

/// Open MPI's session and its shared-memory segments, apart from those of any other run. Removed with all of it at the
/// end; one whose plumbline was ended by SIGKILL goes when the next is made.
class ScratchFolder {
 public:
  /// Below the first of `parents` that can be written to and has so many bytes left. `before_lock`, for tests, is
  /// called between the making of a folder and the lock that keeps other plumblines off it. Throws SystemError when
  /// there is no such parent.
  explicit ScratchFolder(std::int64_t bytes = 0, const std::vector<std::filesystem::path>& parents = default_parents(),
                         const std::function<void(const std::filesystem::path&)>& before_lock = {});
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

  /// What Open MPI's session and the segments of so many ranks on one machine take at most. With less its ranks do not
  /// start, wait for each other without end, or die of SIGBUS when a segment's page cannot be had.
  static std::int64_t bytes_for(std::int64_t ranks);
  /// /dev/shm first: segments belong in memory, and its path is short (Open MPI's socket paths must stay below 108
  /// characters).
  static std::vector<std::filesystem::path> default_parents();

 private:
  std::string path_;
  int lock_ = -1;  ///< held while this process lives, however it ends; -1 where the file system has no locks
};

}  // namespace plumbline
