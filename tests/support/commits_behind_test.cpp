// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "support/commit.hpp"
#include "support/files.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

TEST(CommitsBehind, AreCountedInTheCheckoutAroundTheWorkingFolder) {
  const testing::TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const auto outside = commits_behind_head("0123456789ab");
  const int made = std::system(
      "{ git init -q . && git config user.name n && git config user.email e && git commit -q --allow-empty -m one && "
      "git rev-parse --short=12 HEAD > first && git commit -q --allow-empty -m two; } > output 2>&1");
  const std::string first = made == 0 ? read_file("first").substr(0, 12) : "";
  const auto behind = commits_behind_head(first + "-dirty"), unknown = commits_behind_head("0123456789ab"),
             strange = commits_behind_head("$(touch here)");
  write_file("second", "");
  const int added = std::system("git add second");
  const std::string changed = commit_of_checkout(folder.path()), none = commit_of_checkout("/");
  std::filesystem::current_path(before);

  EXPECT_EQ(outside, std::nullopt);
  if (made != 0) GTEST_SKIP() << "no git";
  EXPECT_EQ(behind, 1);
  EXPECT_EQ(unknown, std::nullopt);
  EXPECT_EQ(strange, std::nullopt);
  EXPECT_EQ(added, 0);
  EXPECT_EQ(changed.size(), 12 + std::string("-dirty").size()) << changed;
  EXPECT_TRUE(changed.ends_with("-dirty")) << changed;
  EXPECT_EQ(none, "");
}

}  // namespace
}  // namespace plumbline
