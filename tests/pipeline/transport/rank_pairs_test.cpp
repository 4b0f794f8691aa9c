// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/rank_pairs.hpp"

#include <gmock/gmock.h>

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Pair = RankPair;

constexpr bool tied = true;

TEST(RankPairs, ConnectNeighboringStagesEvenOnesFirst) {
  EXPECT_THAT(pairs_of({4, 1, PlacementKind::loop}, !tied), ElementsAre(Pair(0, 1), Pair(2, 3), Pair(1, 2)));
}

TEST(RankPairs, FormARingWithSeveralChunks) {
  EXPECT_THAT(pairs_of({3, 2, PlacementKind::loop}, !tied), ElementsAre(Pair(0, 1), Pair(0, 2), Pair(1, 2)));
}

TEST(RankPairs, ListEachPairOfAVOnce) {
  EXPECT_THAT(pairs_of({3, 2, PlacementKind::v}, tied), ElementsAre(Pair(0, 1), Pair(1, 2)));
}

TEST(RankPairs, IncludeTheEndsOfATiedWeight) {
  EXPECT_THAT(pairs_of({3, 1, PlacementKind::loop}, tied), ElementsAre(Pair(0, 1), Pair(0, 2), Pair(1, 2)));
}

TEST(RankPairs, ConnectTheSamePlaceOfReplicas) {
  EXPECT_THAT(pairs_of({2, 1, PlacementKind::loop}, !tied, 3),
              ElementsAre(Pair(0, 1), Pair(0, 2), Pair(0, 4), Pair(2, 3), Pair(2, 4), Pair(4, 5), Pair(1, 3),
                          Pair(1, 5), Pair(3, 5)));
}

TEST(RankPairs, AreEmptyForOneRank) {
  EXPECT_THAT(pairs_of({1, 2, PlacementKind::loop}, tied), IsEmpty());
}

}  // namespace
}  // namespace plumbline
