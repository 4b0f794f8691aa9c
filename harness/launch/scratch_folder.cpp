// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/scratch_folder.hpp"

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "support/error.hpp"
#include "support/held_folder.hpp"
#include "support/machine_memory.hpp"
#include "support/paths.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

const std::string prefix = "plumbline-run-";

bool exists(const std::string& folder) {
  return access(folder.c_str(), F_OK) == 0;
}

}  // namespace

std::vector<fs::path> ScratchFolder::default_parents() {
  return {"/dev/shm", "/tmp", temporary_folder()};
}

std::int64_t ScratchFolder::bytes_for(std::int64_t ranks) {
  // Open MPI 4: measured 8.2 MiB for one rank with small messages; each rank has a segment of 4 MiB.
  return (std::int64_t{16} << 20) + ranks * (std::int64_t{4} << 20);
}

ScratchFolder::ScratchFolder(std::int64_t bytes, const std::vector<fs::path>& parents,
                             const std::function<void(const fs::path&)>& before_lock) {
  std::string why;
  for (const fs::path& parent : parents) {
    remove_abandoned_folders(parent, prefix);
    const auto available = free_bytes(parent);
    if (available && *available < static_cast<std::uintmax_t>(bytes)) {
      why += (why.empty() ? "" : "; ") + parent.string() + " has only " +
             bytes_text(static_cast<std::int64_t>(*available)) + " of the " + bytes_text(bytes) + " that may be needed";
      continue;
    }
    do {
      path_ = (parent / (prefix + "XXXXXX")).string();
      if (mkdtemp(path_.data()) == nullptr) {
        why += (why.empty() ? "" : "; ") + parent.string() + ": " + std::strerror(errno);
        break;
      }
      if (before_lock) before_lock(path_);
      lock_ = hold_folder(path_, LOCK_EX);
      // If it is gone, another process mistook it for an abandoned folder, because this one was delayed.
    } while (lock_ < 0 && !exists(path_));
    if (exists(path_)) return;
  }
  throw SystemError("cannot make a temporary folder (" + why +
                    "); free space there, or set TMPDIR to a writable folder");
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

}  // namespace plumbline
