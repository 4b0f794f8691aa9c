// Where a run without a record keeps what it needs while it runs: the progress pages that a rank that waits is told by.
#pragma once

#include <filesystem>

namespace plumbline {

/// A new folder for temporary files. Throws SystemError.
std::filesystem::path make_unrecorded_folder();

/// Removes what one rank wrote there when it goes; the last one removes the folder.
class UnrecordedRun {
 public:
  UnrecordedRun(std::filesystem::path folder, int rank);
  ~UnrecordedRun();
  UnrecordedRun(const UnrecordedRun&) = delete;
  UnrecordedRun& operator=(const UnrecordedRun&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  int rank_;
};

}  // namespace plumbline
