// SPDX-License-Identifier: BSD-3-Clause
// One pipeline of several: the mesh in its manifest, and the folder that is read.
#include "record/mesh.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "tests/record/sample.hpp"

namespace plumbline {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The sample's three ranks are one of two pipelines.
Json sample_mesh() {
  return {{"axes", {{"dp", 2}, {"pp", 3}}},
          {"pipeline", "pp"},
          {"replicas", {{0, 2, 4}, {1, 3, 5}}},
          {"replica", 1},
          {"sharded", Json::array()}};
}

Json with_mesh(const Json& mesh) {
  Json json = sample_manifest();
  json["role"] = "external";
  json["mesh"] = mesh;
  return json;
}

Json mesh_with(const std::string& key, const Json& value) {
  Json mesh = sample_mesh();
  mesh[key] = value;
  return with_mesh(mesh);
}

std::string mesh_refusal(const Json& json) {
  return error_of<InputError>([&] { parse_manifest("manifest.json", json); });
}

void write_replica(const std::filesystem::path& folder, const Json& json) {
  make_folder(folder);
  write_file(folder / "manifest.json", json_text(json));
}

TEST(Mesh, SaysWhichRanksOfTheRunTheRecordIsOf) {
  const Mesh mesh = parse_manifest("manifest.json", with_mesh(sample_mesh())).mesh.value();

  EXPECT_EQ(mesh.world_size(), 6);
  EXPECT_EQ(mesh.name(), "replica 1 of 2");
  EXPECT_THAT(mesh.replicas.at(1), ElementsAre(1, 3, 5));
  EXPECT_FALSE(parse_manifest("manifest.json", sample_manifest()).mesh);
}

TEST(Mesh, EachRankStandsInOneReplica) {
  EXPECT_THAT(mesh_refusal(mesh_with("replicas", {{0, 2, 4}, {1, 3, 4}})),
              HasSubstr("key mesh.replicas: rank 4 is in replica 0 and in replica 1"));
  EXPECT_THAT(mesh_refusal(mesh_with("replicas", {{0, 2, 2}, {1, 3, 5}})), HasSubstr("rank 2 is in replica 0 and in"));
  Json one_left_out = mesh_with("replicas", Json::array({Json::array({0, 2, 4})}));
  one_left_out["mesh"]["replica"] = 0;
  EXPECT_THAT(mesh_refusal(one_left_out), HasSubstr("key mesh.replicas: rank 1 is in none of them"));
}

TEST(Mesh, SizesMultiplyToTheRanks) {
  EXPECT_THAT(mesh_refusal(mesh_with("axes", {{"dp", 1}, {"pp", 3}})),
              HasSubstr("rank 4 is none of the 3 that the sizes of the axes multiply to"));
  EXPECT_THAT(mesh_refusal(mesh_with("axes", {{"dp", 3}, {"pp", 3}})), HasSubstr("rank 6 is in none of them"));
  EXPECT_THAT(mesh_refusal(mesh_with("axes", {{"dp", 3}, {"pp", 2}})),
              HasSubstr("replica 0 has 3 ranks, but axis 'pp' has 2"));
  Json other_world = mesh_with("axes", {{"dp", 1}, {"pp", 6}});
  other_world["mesh"]["replicas"] = Json::array({{0, 1, 2, 3, 4, 5}});
  other_world["mesh"]["replica"] = 0;
  EXPECT_THAT(mesh_refusal(other_world),
              HasSubstr("axis 'pp' has 6 ranks, but world_size, the size of one pipeline, is 3"));
  EXPECT_THAT(mesh_refusal(mesh_with("axes", {{"dp", 65536}, {"pp", 65536}})),
              HasSubstr("makes more than 65536 ranks"));
  EXPECT_THAT(mesh_refusal(mesh_with("axes", {{"dp", 0}, {"pp", 3}})),
              HasSubstr("key mesh.axes.dp: 0 is not between 1"));
}

TEST(Mesh, OtherThingsThatCannotBeAreRefused) {
  EXPECT_THAT(mesh_refusal(mesh_with("pipeline", "tp")), HasSubstr("key mesh.pipeline: 'tp' is none of the axes"));
  EXPECT_THAT(mesh_refusal(mesh_with("replica", 2)), HasSubstr("key mesh.replica: 2 is not between 0 and 1"));
  EXPECT_THAT(mesh_refusal(mesh_with("replicas", {{0, -2, 4}, {1, 3, 5}})), HasSubstr("rank -2 is none of the 6"));
  EXPECT_THAT(mesh_refusal(mesh_with("axes", 6)), HasSubstr("key mesh.axes: must be a JSON object"));
  Json many = {{"pp", 3}, {"dp", 2}};
  for (int axis = 0; axis < 15; ++axis) many["a" + std::to_string(axis)] = 1;
  EXPECT_THAT(mesh_refusal(mesh_with("axes", many)), HasSubstr("key mesh.axes: has more than 16 axes"));
  many.erase("a0");
  EXPECT_NO_THROW(parse_manifest("manifest.json", mesh_with("axes", many)));
  Json ours = with_mesh(sample_mesh());
  ours["role"] = "reference";
  EXPECT_THAT(mesh_refusal(ours), HasSubstr("key mesh: is not allowed, since a reference is one device"));
}

Json sharded_in(const Json& parts, std::int64_t size = 5) {
  return {{"head.weight", {{"dimension", 1}, {"size", size}, {"parts", parts}}}};
}

TEST(Mesh, NamesThePartsOfAParameter) {
  const auto parsed = [](const Json& parts, std::int64_t size) {
    return parse_manifest("manifest.json", mesh_with("sharded", sharded_in(parts, size)))
        .mesh->sharded.at("head.weight");
  };
  const Sharding sharding = parsed({{0, 3}, {3, 5}}, 5);
  EXPECT_EQ(sharding.name_of("head.weight", 0), "head.weight[:,0:3]");
  EXPECT_EQ(sharding.name_of("head.weight", 1), "head.weight[:,3:5]");
  EXPECT_EQ(parsed({{0, 1}, {1, 1}}, 1).name_of("head.weight", 1), "") << "an empty part";
  EXPECT_EQ(parsed({{0, 5}, {0, 5}}, 5).name_of("head.weight", 1), "head.weight[:,0:5]") << "two replicas of one part";
}

TEST(Mesh, PartsMakeUpTheWhole) {
  const std::vector<std::pair<Json, std::string>> refused{
      {{{0, 3}, {4, 5}}, "index 3 along dimension 1 is in no part"},
      {{{0, 3}, {2, 5}}, "index 2 along dimension 1 is in two parts"},
      {{{0, 3}, {3, 4}}, "index 4 along dimension 1 of 5 is in no part"},
      {{{1, 3}, {3, 5}}, "index 0 along dimension 1 is in no part"},
      {{{0, 5}}, "key mesh.sharded.head.weight.parts: must list for each replica the range"},
      {{{0, 3}, {3, 6}}, "must list for each replica"},
      {{{3, 0}, {3, 5}}, "must list for each replica"}};
  for (const auto& [parts, words] : refused)
    EXPECT_THAT(mesh_refusal(mesh_with("sharded", sharded_in(parts))), HasSubstr(words));
  EXPECT_THAT(mesh_refusal(mesh_with("sharded", {"head.weight"})),
              HasSubstr("key mesh.sharded: must be a JSON object"));
}

TEST(Mesh, ReplicasAreFoundAndChosenByTheirNumbers) {
  const TemporaryFolder folder;
  write_replica(folder / "run/replica-0", mesh_with("replica", 0));
  write_replica(folder / "run/replica-1", mesh_with("replica", 1));
  write_replica(folder / "alone", sample_manifest());

  EXPECT_EQ(replica_folder(folder / "run", 1), folder / "run/replica-1");
  EXPECT_EQ(replica_folder(folder / "run/replica-1", 1), folder / "run/replica-1");
  EXPECT_EQ(replica_folder(folder / "alone", 1), folder / "alone") << "one pipeline, which is no replica";
  EXPECT_EQ(replica_folder(folder / "alone", {}), folder / "alone");
  EXPECT_EQ(replica_folder(folder.path(), 1), folder.path()) << "no record at all";
  EXPECT_THAT(error_of<InputError>([&] { read_manifest(folder / "run"); }),
              HasSubstr("holds a record for each of several pipelines (replica-0, ...); choose one"));
  EXPECT_EQ(record_of_replica(folder / "run", {}), folder / "run/replica-0");
  EXPECT_EQ(record_of_replica(folder / "run", 1), folder / "run/replica-1");
  EXPECT_EQ(record_of_replica(folder / "alone", 1), folder / "alone");

  for (const char* name : {"run/replica-x", "run/replica--1", "run/replica-", "alone/replica-0"})
    make_folder(folder / name);
  folder.file("run/replica-2", "notes");
  EXPECT_THAT(replica_folders(folder / "run"), ElementsAre(folder / "run/replica-0", folder / "run/replica-1"));
  EXPECT_THAT(replica_folders(folder / "alone"), IsEmpty()) << "a record itself";
  EXPECT_THAT(replica_folders(folder / "run/replica-0"), IsEmpty());
}

TEST(Mesh, AReplicaThatIsNotThereOrNotChosenIsRefused) {
  const TemporaryFolder folder;
  const auto run = folder / "run";
  write_replica(run / "replica-0", mesh_with("replica", 0));
  write_replica(run / "replica-1", mesh_with("replica", 0));
  const auto words = [](auto use) { return error_of<InputError>(use); };

  EXPECT_THAT(words([&] { read_manifest(run); }), HasSubstr("key mesh.replica: is 0 in the folder of replica 1"));
  EXPECT_THAT(words([&] { replica_folder(run, 2); }), HasSubstr("replica-2: does not exist"));
  EXPECT_THAT(words([&] { replica_folder(run, 1); }), HasSubstr("key mesh.replica: is 0 in the folder of replica 1"));
  EXPECT_THAT(words([&] { replica_folder(run / "replica-0", 1); }), HasSubstr("is replica 0 of 2, not replica 1"));
}

TEST(Mesh, ReplicasThatAreNotOneRunAreRefused) {
  const TemporaryFolder folder;
  const auto run = folder / "run";
  const auto words = [&] { return error_of<InputError>([&] { replica_folders(run); }); };

  write_replica(run / "replica-1", mesh_with("replica", 1));
  EXPECT_THAT(words(), HasSubstr("replica-0: does not exist, but by the mesh of the others 2 pipelines trained"));
  write_replica(run / "replica-0", mesh_with("replica", 1));
  EXPECT_THAT(words(), HasSubstr("replica-0/manifest.json: key mesh.replica: is 1 in the folder of replica 0"));
  Json other = mesh_with("replicas", {{0, 1, 2}, {3, 4, 5}});
  other["mesh"]["replica"] = 0;
  write_replica(run / "replica-0", other);
  EXPECT_THAT(words(), HasSubstr("replica-1/manifest.json: key mesh: says axes dp 2, pp 3 with the pipeline along pp, "
                                 "replicas [0, 2, 4] [1, 3, 5]; replica 0 of the same run says axes"));
  write_replica(run / "replica-0", mesh_with("replica", 0));
  write_replica(run / "replica-7", mesh_with("replica", 0));
  EXPECT_THAT(words(), HasSubstr("replica-7: exists, but by the mesh of the others 2 pipelines trained"));
  EXPECT_THAT(error_of<InputError>([&] { read_manifest(run); }), HasSubstr("replica-7: exists, but"));
}

TEST(Mesh, ReplicasAreListsOfRanksAndNothingElse) {
  for (const Json& replicas : {Json("0, 1"), Json::array(), Json::array({Json::array({0, 2, "4"}), {1, 3, 5}}),
                               Json::array({{0, 2, 4}, Json::array({1, 3, 5.0})}), Json({{"0", {0, 2, 4}}})})
    EXPECT_THAT(mesh_refusal(mesh_with("replicas", replicas)), HasSubstr("must list the ranks of each pipeline"))
        << replicas;
}

TEST(Mesh, TheMostRanksThatAManifestMayHaveAreTaken) {
  Json list = Json::array();
  for (int rank = 0; rank < 65536; ++rank) list.push_back(rank);
  Json json = mesh_with("axes", {{"pp", 65536}});
  json["mesh"]["replicas"] = Json::array({list});
  json["mesh"]["replica"] = 0;
  json["world_size"] = 65536;
  EXPECT_EQ(parse_manifest("manifest.json", json).mesh->world_size(), 65536);
}

TEST(Mesh, FoldersThatAreNotTheReplicasOfOneRunAreRefused) {
  Json whole = mesh_with("replica", 0), in_halves = mesh_with("replica", 1), otherwise = mesh_with("replica", 0);
  in_halves["mesh"]["sharded"] = sharded_in({{0, 3}, {3, 5}});
  otherwise["mesh"]["sharded"] = sharded_in({{0, 2}, {2, 5}});
  const char* other_shards = "replica-1/manifest.json: key mesh.sharded: is not that of replica 0 of the same run";
  Json own_gradients = mesh_with("replica", 1);
  own_gradients["mesh"]["gradients"] = "own";
  struct Case {
    std::vector<Json> replicas;
    const char* words;
  };
  for (const auto& [replicas, words] :
       {Case{{sample_manifest()}, "replica-0/manifest.json: key mesh.replica: is missing in the folder of replica 0"},
        Case{{whole, in_halves}, other_shards}, Case{{otherwise, in_halves}, other_shards},
        Case{{mesh_with("replica", 0), own_gradients}, "gradients of its own"}}) {
    const TemporaryFolder folder;
    for (std::size_t i = 0; i < replicas.size(); ++i)
      write_replica(folder / ("replica-" + std::to_string(i)), replicas[i]);
    EXPECT_THAT(error_of<InputError>([&] { replica_folders(folder.path()); }), HasSubstr(words));
  }
}

TEST(Mesh, GradientsAreReducedUnlessItSaysThatEachReplicaRecordsItsOwn) {
  const auto own = [](const Json& json) { return parse_manifest("manifest.json", json).mesh->own_gradients; };

  EXPECT_FALSE(own(with_mesh(sample_mesh())));
  EXPECT_FALSE(own(mesh_with("gradients", "reduced")));
  EXPECT_TRUE(own(mesh_with("gradients", "own")));
  EXPECT_THAT(mesh_refusal(mesh_with("gradients", "none")), HasSubstr("key mesh.gradients: is 'none'; they are"));
}

}  // namespace
}  // namespace plumbline
