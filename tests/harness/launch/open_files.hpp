// SPDX-License-Identifier: BSD-3-Clause
// The number of open files of this process, since a leak per launch would end a long sweep.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace plumbline::testing {

inline std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

/// In its lifetime this process cannot open more files than it closes.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    int last = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
      last = std::max(last, std::atoi(entry.path().filename().c_str()));
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(last) + 1;
    ::setrlimit(RLIMIT_NOFILE, &few);
    for (int file = 0; (file = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken_.push_back(file);
  }
  ~NoMoreFiles() {
    for (const int file : taken_) ::close(file);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

}  // namespace plumbline::testing
