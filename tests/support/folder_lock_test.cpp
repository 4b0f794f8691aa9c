// SPDX-License-Identifier: BSD-3-Clause
#include "support/folder_lock.hpp"

#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace {

/// The error of flock, as on a file system without locks; 0 calls the system's flock.
int flock_error = 0;

}  // namespace

extern "C" int flock(int file, int operation) noexcept {
  if (flock_error == 0) return static_cast<int>(syscall(SYS_flock, file, operation));
  errno = flock_error;
  return -1;
}

namespace plumbline {
namespace {

TEST(FolderLock, RefusesAFolderInUse) {
  const testing::TemporaryFolder folder;
  std::optional<FolderLock> first(std::in_place, folder.path());
  EXPECT_EQ(testing::error_of<InputError>([&] { const FolderLock second(folder.path()); }),
            folder.path().string() + ": another plumbline is using this folder; wait for it or choose another");
  first.reset();
  EXPECT_NO_THROW(const FolderLock second(folder.path()));
}

TEST(FolderLock, WarnsOnceOnAFileSystemWithoutLocks) {
  const testing::TemporaryFolder folder;
  std::string warnings;
  for (const int error : {ENOSYS, EOPNOTSUPP, ENOLCK}) {
    flock_error = error;
    ::testing::internal::CaptureStderr();
    EXPECT_NO_THROW(const FolderLock lock(folder.path())) << error;
    warnings += ::testing::internal::GetCapturedStderr();
  }
  flock_error = 0;
  EXPECT_EQ(warnings,
            "warning: " + folder.path().string() +
                ": this file system has no locks (Function not implemented), so a second plumbline that writes "
                "there is not noticed; start only one\n");
}

}  // namespace
}  // namespace plumbline
