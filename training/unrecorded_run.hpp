// SPDX-License-Identifier: BSD-3-Clause
// Temporary files of a run without a record: the heartbeats by which a waiting rank is explained.
#pragma once

#include <filesystem>
#include <utility>

#include "record/rank_folder.hpp"
#include "support/paths.hpp"

namespace plumbline {

/// Creates a new folder for temporary files. Throws SystemError.
inline std::filesystem::path make_unrecorded_folder() {
  return make_temporary_folder("plumbline-run");
}

/// Removes one rank's files on destruction; the last rank removes the folder.
class UnrecordedRun {
 public:
  UnrecordedRun(std::filesystem::path folder, int rank) : folder_(std::move(folder)), rank_(rank) {}
  ~UnrecordedRun() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_ / rank_folder(rank_), ignored);
    if (rank_ == 0) std::filesystem::remove(folder_ / "manifest.json", ignored);
    std::filesystem::remove(folder_, ignored);  // fails while another rank has files there
  }
  UnrecordedRun(const UnrecordedRun&) = delete;
  UnrecordedRun& operator=(const UnrecordedRun&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  int rank_;
};

}  // namespace plumbline
