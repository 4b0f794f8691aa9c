// SPDX-License-Identifier: BSD-3-Clause
#include "support/folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "support/error.hpp"

namespace plumbline {

FolderLock::FolderLock(const std::filesystem::path& folder) {
  lock_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) throw SystemError(fmt::format("{}: cannot be opened: {}", folder.string(), std::strerror(errno)));
  if (flock(lock_, LOCK_EX | LOCK_NB) == 0) return;
  const int error = errno;
  if (error == EWOULDBLOCK) {
    close(lock_);
    throw InputError(folder.string() + ": another plumbline is using this folder; wait for it or choose another");
  }
  static std::atomic<bool> warned = false;
  if (warned.exchange(true)) return;
  fmt::print(stderr,
             "warning: {}: this file system has no locks ({}), so a second plumbline that writes there is not noticed; "
             "start only one\n",
             folder.string(), std::strerror(error));
}

FolderLock::~FolderLock() {
  close(lock_);
}

}  // namespace plumbline
