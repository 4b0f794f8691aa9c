// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/rank_watch.hpp"
#include "support/json_text.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

/// Of a run of two pipelines of two ranks each.
std::string manifest_of_replica(std::int64_t replica) {
  Json manifest = synthetic_candidate({}).manifest;
  manifest["role"] = "external";
  manifest["mesh"] = {
      {"axes", {{"dp", 2}, {"pp", 2}}}, {"pipeline", "pp"}, {"replicas", {{0, 2}, {3, 1}}}, {"replica", replica}};
  return json_text(manifest);
}

TEST(PlacesInMesh, EachRankOfTheRunHasItsFolderAndItsPipeline) {
  const TemporaryFolder folder;
  folder.file("other/manifest.json", "{}");
  folder.file("replica-0/manifest.json", "{\"schema\": ");  // being written
  folder.file("replica-1/manifest.json", manifest_of_replica(1));
  folder.file("replica-2/manifest.json", "");

  const auto places = places_in_mesh(folder.path());

  ASSERT_EQ(places.size(), 4U);
  EXPECT_EQ(places[0].folder, folder / "replica-0/rank-0");
  EXPECT_EQ(places[1].folder, folder / "replica-1/rank-1");
  EXPECT_EQ(places[2].folder, folder / "replica-0/rank-1");
  EXPECT_EQ(places[3].folder, folder / "replica-1/rank-0");
  EXPECT_THAT(places[2].pipeline, ElementsAre(0, 2));
  EXPECT_THAT(places[3].pipeline, ElementsAre(3, 1));
}

// A folder's entries come in no order: whichever of the two comes first is once the one that is being written.
TEST(PlacesInMesh, AManifestThatIsBeingWrittenDoesNotHideTheOthers) {
  for (const std::int64_t written : {0, 1}) {
    const TemporaryFolder folder;
    folder.file("replica-0/manifest.json", written == 0 ? manifest_of_replica(0) : "{\"schema\": ");
    folder.file("replica-1/manifest.json", written == 1 ? manifest_of_replica(1) : "{\"schema\": ");

    EXPECT_EQ(places_in_mesh(folder.path()).size(), 4U) << written;
  }
}

TEST(PlacesInMesh, ThereAreNoneAsLongAsNoReplicaTellsTheMesh) {
  const TemporaryFolder folder;
  EXPECT_THAT(places_in_mesh(folder / "not there yet"), IsEmpty());
  folder.file("replica-0/manifest.json", "{\"schema\": ");
  EXPECT_THAT(places_in_mesh(folder.path()), IsEmpty());
  folder.file("of-another-name/manifest.json", manifest_of_replica(0));
  EXPECT_THAT(places_in_mesh(folder.path()), IsEmpty());
}

}  // namespace
}  // namespace plumbline::testing
