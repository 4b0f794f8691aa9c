// SPDX-License-Identifier: BSD-3-Clause
#include "support/paths.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

TEST(Paths, FindsWhatExists) {
  const TemporaryFolder folder;
  folder.file("f", "x");

  EXPECT_TRUE(path_exists(folder / "f"));
  EXPECT_FALSE(folder_exists(folder / "f"));
  EXPECT_TRUE(folder_exists(folder.path()));
  EXPECT_FALSE(path_exists(folder / "absent"));
  EXPECT_FALSE(folder_exists(folder / "absent"));
  EXPECT_FALSE(path_exists(folder / "f/below-a-file"));
}

TEST(Paths, MatchingFilesAreSortedByName) {
  const TemporaryFolder folder;
  std::vector<std::filesystem::path> expected;
  for (char name = 'z'; name >= 'a'; --name)
    expected.insert(expected.begin(), folder.file(std::string(1, name) + ".txt", ""));
  folder.file("other.bin", "");

  EXPECT_EQ(files_matching(folder / "*.txt"), expected);
  EXPECT_EQ(files_matching(folder / "b.txt"), std::vector{folder / "b.txt"});
  EXPECT_TRUE(files_matching(folder / "b.md").empty());
}

TEST(Paths, NamesAPathThatCannotBeExamined) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("circle", folder / "circle");
  const std::string long_name(300, 'x');

  for (const std::string& name : {std::string("circle"), long_name}) {
    for (const auto ask : {path_exists, folder_exists}) {
      EXPECT_THAT(
          error_of<InputError>([&] { ask(folder / name); }),
          ::testing::AllOf(HasSubstr((folder / name).string() + ": cannot be used: "), HasSubstr("check the path")));
    }
  }
}

TEST(Paths, NamesAMissingFolderForTemporaryFiles) {
  const TemporaryFolder folder;
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";

  EXPECT_TRUE(std::filesystem::is_directory(temporary_folder()));
  ::setenv("TMPDIR", (folder / "absent").c_str(), 1);
  EXPECT_THAT(error_of<InputError>([] { temporary_folder(); }),
              HasSubstr("TMPDIR = " + (folder / "absent").string() + ", cannot be used"));

  before != nullptr ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace plumbline
