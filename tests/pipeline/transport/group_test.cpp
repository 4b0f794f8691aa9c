// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/group.hpp"

#include <gmock/gmock.h>

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ranks = ConnectedRanks;

constexpr bool tied = true;

TEST(RankPairs, ConnectNeighboringStagesEvenOnesFirst) {
  EXPECT_THAT(connections_of({4, 1, PlacementKind::loop}, !tied), ElementsAre(Ranks{0, 1}, Ranks{2, 3}, Ranks{1, 2}));
}

TEST(RankPairs, FormARingWithSeveralChunks) {
  EXPECT_THAT(connections_of({3, 2, PlacementKind::loop}, !tied), ElementsAre(Ranks{0, 1}, Ranks{0, 2}, Ranks{1, 2}));
}

TEST(RankPairs, ListEachPairOfAVOnce) {
  EXPECT_THAT(connections_of({3, 2, PlacementKind::v}, tied), ElementsAre(Ranks{0, 1}, Ranks{1, 2}));
}

TEST(RankPairs, IncludeTheEndsOfATiedWeight) {
  EXPECT_THAT(connections_of({3, 1, PlacementKind::loop}, tied), ElementsAre(Ranks{0, 1}, Ranks{0, 2}, Ranks{1, 2}));
}

TEST(RankPairs, ConnectTheSamePlaceOfReplicas) {
  EXPECT_THAT(connections_of({2, 1, PlacementKind::loop}, !tied, 3),
              ElementsAre(Ranks{0, 1}, Ranks{2, 3}, Ranks{4, 5}, Ranks{0, 2, 4}, Ranks{1, 3, 5}));
}

TEST(RankPairs, AreEmptyForOneRank) {
  EXPECT_THAT(connections_of({1, 2, PlacementKind::loop}, tied), IsEmpty());
}

}  // namespace
}  // namespace plumbline
