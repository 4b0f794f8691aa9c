// SPDX-License-Identifier: BSD-3-Clause
#include "training/window_shuffle.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace plumbline {
namespace {

using ::testing::ElementsAre;

std::vector<std::int64_t> order_of(std::uint64_t seed, std::int64_t epoch, std::int64_t windows) {
  std::vector<std::int64_t> order;
  for (std::int64_t index = 0; index < windows; ++index) order.push_back(shuffled_window(seed, epoch, index, windows));
  return order;
}

TEST(WindowShuffle, IsABijectionForAnyNumberOfWindows) {
  for (const std::int64_t windows : {1, 2, 3, 4, 5, 15, 16, 17, 64, 65, 1000, 4097}) {
    std::vector<std::int64_t> order = order_of(9, 2, windows), all(static_cast<std::size_t>(windows));
    std::iota(all.begin(), all.end(), 0);
    std::ranges::sort(order);

    EXPECT_EQ(order, all) << windows;
  }
}

TEST(WindowShuffle, SeedAndEpochDecideTheOrder) {
  EXPECT_NE(order_of(1, 0, 100), order_of(2, 0, 100));
  EXPECT_NE(order_of(1, 0, 100), order_of(1, 1, 100));
  EXPECT_EQ(order_of(1, 7, 100), order_of(1, 7, 100));
}

// Computed by another program, from docs/data.md.
TEST(WindowShuffle, MatchesTheDocumentedOrder) {
  EXPECT_THAT(order_of(11, 0, 10), ElementsAre(5, 8, 3, 4, 2, 6, 9, 0, 7, 1));
  EXPECT_THAT(order_of(11, 1, 10), ElementsAre(7, 4, 6, 5, 3, 2, 9, 1, 8, 0));
  EXPECT_EQ(shuffled_window(1, 0, 0, 1'000'000'000), 88406054);
  EXPECT_EQ(shuffled_window(1, 1, 123456789, 5'000'000'000), 4008362615);
}

// Neighbors in the source should not be neighbors in an epoch: in a random order about one in `windows` pairs would
// be.
TEST(WindowShuffle, SeparatesNeighbors) {
  const std::vector<std::int64_t> order = order_of(3, 0, 10000);
  std::int64_t stayed = 0;
  for (std::size_t i = 1; i < order.size(); ++i) stayed += order[i] == order[i - 1] + 1 ? 1 : 0;

  EXPECT_LT(stayed, 10);
}

}  // namespace
}  // namespace plumbline
