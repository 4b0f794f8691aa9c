// SPDX-License-Identifier: BSD-3-Clause
#include "record/wait_chain.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "record/progress_page.hpp"
#include "record/rank_folder.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

/// A record's folder with the pages of ranks that wait: rank -> whom it waits for, -1 for nobody.
class WaitChain : public ::testing::Test {
 protected:
  void pages(const std::map<std::int64_t, std::int32_t>& peers) {
    for (const auto& [rank, peer] : peers) {
      const auto folder = folder_.path() / rank_folder(rank);
      std::filesystem::create_directories(folder);
      ProgressPage(folder / "progress").update({.step = 2, .peer = peer, .action = "0F3"});
    }
  }
  std::string behind(std::int64_t rank) const { return waits_behind(folder_.path(), rank); }

  testing::TemporaryFolder folder_;
};

TEST_F(WaitChain, EndsAtTheRankThatWaitsForNobody) {
  pages({{3, 2}, {2, 1}, {1, 0}, {0, -1}});
  EXPECT_EQ(behind(3), "; rank 2 waits for rank 1, rank 1 for rank 0, last seen in 0F3 of step 2");
  EXPECT_EQ(behind(1), "; rank 0, last seen in 0F3 of step 2");
  EXPECT_EQ(behind(0), "");
}

TEST_F(WaitChain, ARankOfWhichThereIsNoPageIsSaidToBeSo) {
  pages({{2, 1}, {1, 0}});
  EXPECT_EQ(behind(2), "; rank 1 waits for rank 0, which has no heartbeat on this machine");
}

TEST_F(WaitChain, RanksThatWaitForEachOtherAreNamed) {
  pages({{0, 1}, {1, 2}, {2, 1}});
  EXPECT_EQ(behind(0), "; rank 1 waits for rank 2, rank 2 for rank 1: they wait for each other");
}

TEST_F(WaitChain, ACircleMayEndAtTheFirstRank) {
  pages({{2, 0}, {0, 1}, {1, 0}});
  EXPECT_EQ(behind(2), "; rank 0 waits for rank 1, rank 1 for rank 0: they wait for each other");
}

TEST_F(WaitChain, APageOfAnotherHostIsNotFollowed) {
  pages({{2, 1}, {1, 0}, {0, -1}});
  std::fstream file(folder_.path() / rank_folder(1) / "progress", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(128);
  file.write("far", 4);
  file.close();
  EXPECT_EQ(behind(2), "; rank 1, last seen in 0F3 of step 2 (on far, whose heartbeat may be old)");
  EXPECT_EQ(last_sign(folder_.path(), {1, 0}), ", last seen in 0F3 of step 2");
  EXPECT_EQ(last_sign(folder_.path(), {1, 0, 1}), "") << "they wait for each other";
}

TEST_F(WaitChain, ARankThatHasNotBegunIsSaidToBeSo) {
  pages({{1, 0}});
  const auto folder = folder_.path() / rank_folder(0);
  std::filesystem::create_directories(folder);
  ProgressPage page(folder / "progress");
  EXPECT_EQ(behind(1), "; rank 0, which has not begun its first action");
  ProgressNow now;
  now.step = 1;
  page.update(now);
  EXPECT_EQ(behind(1), "; rank 0, which has not begun its first action of step 1");
}

TEST_F(WaitChain, NothingIsSaidWithoutPages) {
  EXPECT_EQ(behind(0), "");
}

}  // namespace
}  // namespace plumbline
