// SPDX-License-Identifier: BSD-3-Clause
#include "support/held_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

namespace plumbline {
namespace fs = std::filesystem;

int hold_folder(const fs::path& folder, int operation) {
  const int lock = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock >= 0 && flock(lock, operation) == 0 && access(folder.c_str(), F_OK) == 0) return lock;
  if (lock >= 0) close(lock);
  return -1;
}

void remove_abandoned_folders(const fs::path& parent, const std::string& prefix) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    struct stat is {};
    const fs::path& folder = entry.path();
    if (!folder.filename().string().starts_with(prefix) || stat(folder.c_str(), &is) != 0) continue;
    if (is.st_uid != getuid() || std::time(nullptr) - is.st_mtime < 2) continue;
    const int lock = hold_folder(folder, LOCK_EX | LOCK_NB);
    if (lock < 0) continue;
    fs::remove_all(folder, ignored);
    close(lock);
  }
}

}  // namespace plumbline
