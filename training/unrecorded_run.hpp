// SPDX-License-Identifier: BSD-3-Clause
// Where a run without a record keeps what it needs while it runs: the progress pages that a rank that waits is told by.
#pragma once

#include <filesystem>
#include <utility>

#include "record/rank_folder.hpp"
#include "support/paths.hpp"

namespace plumbline {

/// A new folder for temporary files. Throws SystemError.
inline std::filesystem::path make_unrecorded_folder() {
  return make_temporary_folder("plumbline-run");
}

/// Removes what one rank wrote there when it goes; the last one removes the folder.
class UnrecordedRun {
 public:
  UnrecordedRun(std::filesystem::path folder, int rank) : folder_(std::move(folder)), rank_(rank) {}
  ~UnrecordedRun() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_ / rank_folder(rank_), ignored);
    if (rank_ == 0) std::filesystem::remove(folder_ / "manifest.json", ignored);
    std::filesystem::remove(folder_, ignored);  // not while another rank has something there
  }
  UnrecordedRun(const UnrecordedRun&) = delete;
  UnrecordedRun& operator=(const UnrecordedRun&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  int rank_;
};

}  // namespace plumbline
