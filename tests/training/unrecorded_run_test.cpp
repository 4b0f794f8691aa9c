// SPDX-License-Identifier: BSD-3-Clause
#include "training/unrecorded_run.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "tests/environment_variable.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

TEST(UnrecordedRun, RanksRemoveTheirFilesAndTheLastTheFolder) {
  const testing::TemporaryFolder parent;
  const std::filesystem::path folder = parent / "run";
  for (const char* file : {"run/manifest.json", "run/rank-0/progress", "run/rank-1/progress"}) parent.file(file, "{}");
  {
    const UnrecordedRun first(folder, 0);
    { const UnrecordedRun second(folder, 1); }

    EXPECT_EQ(first.folder(), folder);
    EXPECT_FALSE(std::filesystem::exists(folder / "rank-1"));
    EXPECT_TRUE(std::filesystem::exists(folder / "rank-0/progress"));
    EXPECT_TRUE(std::filesystem::exists(folder / "manifest.json"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(UnrecordedRun, OfReplicasEachPipelinesFolderGoesWithItsLastRank) {
  const testing::TemporaryFolder parent;
  const RankFolders folders(parent / "run", 1);
  for (const char* file :
       {"replica-0/manifest.json", "replica-0/rank-0/progress", "replica-1/manifest.json", "replica-1/rank-0/progress"})
    parent.file(std::string("run/") + file, "{}");
  {
    const UnrecordedRun first(folders, 0);
    { const UnrecordedRun second(folders, 1); }
    EXPECT_FALSE(std::filesystem::exists(parent / "run/replica-1"));
    EXPECT_TRUE(std::filesystem::exists(parent / "run/replica-0/rank-0/progress"));
  }
  EXPECT_FALSE(std::filesystem::exists(parent / "run"));
}

TEST(UnrecordedRun, OfAFailedRunNothingRemains) {
  const testing::TemporaryFolder parent;
  for (const char* file : {"run/rank-0/progress", "run/rank-1/progress"}) parent.file(file, "{}");

  { UnrecordedRun(parent / "run", 1).remove_all(); }

  EXPECT_FALSE(std::filesystem::exists(parent / "run"));
}

/// Of killed runs; the next one removes what no process holds.
TEST(UnrecordedRun, TheNextRunRemovesThoseOfKilledOnes) {
  const testing::TemporaryFolder parent;
  const testing::EnvironmentVariable temporary("TMPDIR", parent.path().c_str());
  const UnrecordedRun living(make_unrecorded_folder(), 0);
  const std::filesystem::path killed = make_unrecorded_folder();
  for (const std::filesystem::path& each : {killed, living.folder()}) {
    parent.file(each.filename() / "rank-0/progress", "{}");
    const auto hour = std::chrono::hours(1);
    std::filesystem::last_write_time(each, std::filesystem::file_time_type::clock::now() - hour);
  }

  const std::filesystem::path next = make_unrecorded_folder();

  EXPECT_FALSE(std::filesystem::exists(killed));
  EXPECT_TRUE(std::filesystem::exists(living.folder() / "rank-0/progress"));
  EXPECT_TRUE(std::filesystem::exists(next));
}

TEST(UnrecordedRun, RankZeroKeepsOtherRanksFiles) {
  const testing::TemporaryFolder parent;
  parent.file("run/manifest.json", "{}");
  parent.file("run/rank-1/progress", "{}");
  { const UnrecordedRun first(parent / "run", 0); }

  EXPECT_FALSE(std::filesystem::exists(parent / "run/manifest.json"));
  EXPECT_TRUE(std::filesystem::exists(parent / "run/rank-1/progress"));
}

}  // namespace
}  // namespace plumbline
