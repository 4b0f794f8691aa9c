// SPDX-License-Identifier: BSD-3-Clause
// Temporary files of a run without a record: the heartbeats by which a waiting rank is explained.
#pragma once

#include <filesystem>

#include "record/rank_folder.hpp"

namespace plumbline {

/// Creates a new folder for temporary files, and removes those of this user's killed runs. Throws SystemError. Folders
/// "plumbline-run-*" are the launcher's.
std::filesystem::path make_unrecorded_folder();

/// Holds the folder, which it creates on a host that lacks it. Removes one rank's files on destruction; the last rank
/// removes the folder.
class UnrecordedRun {
 public:
  /// Throws SystemError.
  UnrecordedRun(RankFolders folders, int rank);
  ~UnrecordedRun();
  UnrecordedRun(const UnrecordedRun&) = delete;
  UnrecordedRun& operator=(const UnrecordedRun&) = delete;

  const std::filesystem::path& folder() const { return folders_.record; }
  /// Removes the files of all ranks: the others, if any, are about to be ended.
  void remove_all() const;

 private:
  RankFolders folders_;
  int rank_;
  int lock_ = -1;  ///< -1 on a file system without locks
};

}  // namespace plumbline
