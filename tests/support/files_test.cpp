// SPDX-License-Identifier: BSD-3-Clause
#include "support/files.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using testing::bytes_of;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// Limits the size of this process's files to `bytes`, which looks like a full disk to a writer.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

TEST(Files, WholeFileReadsBack) {
  const TemporaryFolder folder;
  std::string bytes(200000, 'x');
  bytes.replace(0, 5, std::string("a\0b\r\n", 5));

  write_file(folder / "f", bytes);

  EXPECT_EQ(read_file(folder / "f"), bytes);
  EXPECT_EQ(bytes_of(folder / "f"), bytes);
  EXPECT_EQ(files_in(folder.path()), 1u) << "the temporary name is gone";
}

TEST(Files, AppendsPiecesInOrder) {
  const TemporaryFolder folder;
  const std::string_view pieces[] = {"ab", "", "c"};

  write_file_pieces(folder / "f", 3, [&](std::size_t piece) { return pieces[piece]; });

  EXPECT_EQ(bytes_of(folder / "f"), "abc");
}

TEST(Files, ReadsAFileOfUnknownSizeToItsEnd) {
  EXPECT_THAT(read_file("/proc/self/status"), HasSubstr("VmHWM"));
}

TEST(Files, NamesAFileThatCannotBeRead) {
  const TemporaryFolder folder;

  EXPECT_THAT(error_of<InputError>([&] { read_file(folder / "absent"); }),
              HasSubstr("absent: cannot be read: No such"));
  EXPECT_THAT(error_of<InputError>([&] { read_file(folder.path()); }), HasSubstr("Is a directory"));
}

// A device may have no end, and a pipe no writer: reading either would never return.
TEST(Files, RefusesDevicesAndPipes) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);

  for (const std::string& path :
       {std::string("/dev/full"), std::string("/dev/zero"), std::string("/dev/null"), (folder / "pipe").string()}) {
    EXPECT_THAT(error_of<InputError>([&] { read_file(path); }), HasSubstr(path + ": is a device, a pipe or a socket"));
  }
}

TEST(Files, RefusesAFileLargerThanMemory) {
  const TemporaryFolder folder;
  std::filesystem::resize_file(folder.file("f", ""), std::uintmax_t{1} << 42);  // takes no room on the disk

  EXPECT_THAT(error_of<SystemError>([&] { read_file(folder / "f", std::size_t{1} << 43); }),
              HasSubstr((folder / "f").string() + ": the file needs 4.00 TiB of memory, this machine has"));
}

TEST(Files, AFailedWriteLeavesTheOldFile) {
  const TemporaryFolder folder;
  folder.file("f", "old");
  const std::string large(100000, 'x');

  const std::string message = error_of<SystemError>([&] {
    const FileSizeLimit limit(50000);
    write_file(folder / "f", large);
  });

  EXPECT_THAT(message, HasSubstr((folder / "f").string() + ": cannot be written: File too large"));
  EXPECT_EQ(bytes_of(folder / "f"), "old");
  EXPECT_EQ(files_in(folder.path()), 1u) << "no half-written file is left";
}

TEST(Files, AFullDiskOrAMissingFolderIsASystemError) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of<SystemError>([] { write_file("/dev/full", "x"); }),
              HasSubstr("/dev/full: cannot be written: No space left on device; free space"));
  EXPECT_THAT(error_of<SystemError>([&] { write_file(folder / "absent/f", "x"); }), HasSubstr("No such file"));
  EXPECT_THAT(error_of<SystemError>([&] { write_file(folder.path(), "x"); }),
              HasSubstr("cannot be written: Is a directory"));
}

TEST(Files, MakesAFolderWithItsParentsUnlessAFileIsInTheWay) {
  const TemporaryFolder folder;
  make_folder(folder / "a/b/c");
  make_folder(folder / "a/b/c");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b/c"));
  folder.file("f", "x");
  for (const char* path : {"f", "f/g"})
    EXPECT_THAT(error_of<SystemError>([&] { make_folder(folder / path); }), HasSubstr("the folder cannot be created"));
}

TEST(Files, ChecksThatAFolderCanBeMadeWithoutMakingIt) {
  const TemporaryFolder folder;
  for (const std::filesystem::path& path : {folder.path(), folder / "a/b"}) {
    EXPECT_NO_THROW(require_folder_can_be_made(path));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  folder.file("f", "x");
  for (const std::filesystem::path& path : {folder / "f", folder / "f/g"}) {
    EXPECT_THAT(error_of<SystemError>([&] { require_folder_can_be_made(path); }),
                HasSubstr("the folder cannot be created"));
  }
}

TEST(Files, AdviceOnAFailedWriteDependsOnItsCause) {
  for (const int full : {ENOSPC, EDQUOT}) EXPECT_THAT(advice_on_writing(full), HasSubstr("free space on that disk"));
  EXPECT_THAT(advice_on_writing(EFBIG), HasSubstr("ulimit -f"));
  for (const int other : {ENOENT, EACCES, EROFS}) EXPECT_THAT(advice_on_writing(other), HasSubstr("may be written to"));
}

}  // namespace
}  // namespace plumbline
