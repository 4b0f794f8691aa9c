// SPDX-License-Identifier: BSD-3-Clause
// Temporary files of a run without a record: the heartbeats by which a waiting rank is explained.
#pragma once

#include <filesystem>
#include <utility>

#include "record/rank_folder.hpp"
#include "support/paths.hpp"

namespace plumbline {

/// Creates a new folder for temporary files. Throws SystemError. Folders "plumbline-run-*" are the launcher's, which
/// removes those that no process holds.
inline std::filesystem::path make_unrecorded_folder() {
  return make_temporary_folder("plumbline-unrecorded");
}

/// Removes one rank's files on destruction; the last rank removes the folder.
class UnrecordedRun {
 public:
  UnrecordedRun(RankFolders folders, int rank) : folders_(std::move(folders)), rank_(rank) {}
  ~UnrecordedRun() {
    std::error_code ignored;
    const std::filesystem::path own = folders_.of(rank_), pipeline = folders_.pipeline_of(rank_);
    std::filesystem::remove_all(own, ignored);
    if (own == pipeline / rank_folder(0)) std::filesystem::remove(pipeline / "manifest.json", ignored);
    for (const auto& folder : {pipeline, folders_.record}) {
      std::filesystem::remove(folder, ignored);  // fails while another rank has files there
    }
  }
  UnrecordedRun(const UnrecordedRun&) = delete;
  UnrecordedRun& operator=(const UnrecordedRun&) = delete;

  const std::filesystem::path& folder() const { return folders_.record; }

 private:
  RankFolders folders_;
  int rank_;
};

}  // namespace plumbline
