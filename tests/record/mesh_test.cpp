// SPDX-License-Identifier: BSD-3-Clause
// One pipeline of several: the mesh in its manifest, and the folder that is read.
#include "record/mesh.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "tests/record/mesh_json.hpp"
#include "tests/record/sample.hpp"

namespace plumbline {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The sample's three ranks are one of two pipelines.
Json sample_mesh() {
  return mesh_json({{"dp", 2}, {"pp", 3}}, {{0, 2, 4}, {1, 3, 5}}, 1);
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

Json mesh_with_axes(const std::vector<std::pair<std::string, std::int64_t>>& axes) {
  return mesh_with("axes", mesh_json(axes, Json::array(), 0).at("axes"));
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
  EXPECT_EQ(mesh.name(), "dp 1");
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
  EXPECT_THAT(mesh_refusal(mesh_with_axes({{"dp", 1}, {"pp", 3}})),
              HasSubstr("rank 4 is none of the 3 that the sizes of the axes multiply to"));
  EXPECT_THAT(mesh_refusal(mesh_with_axes({{"dp", 3}, {"pp", 3}})), HasSubstr("rank 6 is in none of them"));
  EXPECT_THAT(mesh_refusal(mesh_with_axes({{"dp", 3}, {"pp", 2}})),
              HasSubstr("replica 0 has 3 ranks, but axis 'pp' has 2"));
  Json other_world = mesh_with_axes({{"dp", 1}, {"pp", 6}});
  other_world["mesh"]["replicas"] = Json::array({{0, 1, 2, 3, 4, 5}});
  other_world["mesh"]["replica"] = 0;
  EXPECT_THAT(mesh_refusal(other_world),
              HasSubstr("axis 'pp' has 6 ranks, but world_size, the size of one pipeline, is 3"));
  EXPECT_THAT(mesh_refusal(mesh_with_axes({{"dp", 65536}, {"pp", 65536}})), HasSubstr("makes more than 65536 ranks"));
  EXPECT_THAT(mesh_refusal(mesh_with_axes({{"dp", 0}, {"pp", 3}})), HasSubstr("size: 0 is not between 1"));
}

TEST(Mesh, OtherThingsThatCannotBeAreRefused) {
  EXPECT_THAT(mesh_refusal(mesh_with("replica", 2)), HasSubstr("key mesh.replica: 2 is not between 0 and 1"));
  EXPECT_THAT(mesh_refusal(mesh_with("replicas", {{0, -2, 4}, {1, 3, 5}})), HasSubstr("rank -2 is none of the 6"));
  EXPECT_THAT(mesh_refusal(mesh_with("axes", 6)), HasSubstr("key mesh.axes: must be a list of 1 to 16 axes"));
  Json many = sample_mesh().at("axes");
  while (many.size() < 17)
    many.push_back({{"name", "a" + std::to_string(many.size())}, {"size", 1}, {"kind", "replicate"}});
  EXPECT_THAT(mesh_refusal(mesh_with("axes", many)), HasSubstr("key mesh.axes: must be a list of 1 to 16 axes"));
  many.erase(many.size() - 1);
  EXPECT_NO_THROW(parse_manifest("manifest.json", mesh_with("axes", many)));
  Json ours = with_mesh(sample_mesh());
  ours["role"] = "reference";
  EXPECT_THAT(mesh_refusal(ours), HasSubstr("key mesh: is not allowed, since a reference is one device"));
}

/// Two data parallel places of two tensor parallel ones each, of three stages.
Json mesh_of_three_axes(std::int64_t place) {
  return mesh_json({{"dp", 2}, {"pp", 3}, {"tp", 2}}, {{0, 2, 4}, {1, 3, 5}, {6, 8, 10}, {7, 9, 11}}, place);
}

Json part(const Json& axes, const std::string& placements = "tp: Shard(dim=0)") {
  return {{"head.weight", {{"axes", axes}, {"placements", placements}}}};
}

TEST(Mesh, APlaceIsNamedByItsCoordinates) {
  const Mesh mesh = parse_manifest("manifest.json", with_mesh(mesh_of_three_axes(1))).mesh.value();

  EXPECT_EQ(mesh.name(), "dp 0, tp 1");
  EXPECT_EQ(mesh.place_name(2), "dp 1, tp 0");
  EXPECT_EQ(mesh.sizes(), "dp 2, tp 2");
  EXPECT_EQ(mesh.pipeline().name, "pp");
  const Mesh alone =
      parse_manifest("manifest.json", with_mesh(mesh_json({{"pp", 3}, {"tp", 1}}, Json::array({{0, 1, 2}}), 0)))
          .mesh.value();
  EXPECT_EQ(alone.name(), "the only place") << "an axis of size 1 is none";
}

TEST(Mesh, PlacesWithEqualCoordinatesOnAPartsAxesHoldTheSamePart) {
  Json json = mesh_of_three_axes(0);
  json["parts"] = part({"tp"});
  const Mesh mesh = parse_manifest("manifest.json", with_mesh(json)).mesh.value();

  EXPECT_EQ(mesh.part_at(0, "head.weight"), mesh.part_at(2, "head.weight"));
  EXPECT_NE(mesh.part_at(0, "head.weight"), mesh.part_at(1, "head.weight"));
  EXPECT_EQ(mesh.part_at(0, "another"), mesh.part_at(3, "another"));
}

TEST(Mesh, PartsLieAlongAxesOfPlaces) {
  const std::vector<std::pair<Json, std::string>> refused{
      {part({"tp"}), "key mesh.parts.head.weight.axes: 'tp' is no axis of the mesh that places differ along"},
      {part({"pp"}), "'pp' is no axis"},
      {part(Json::array()), "must name the axes along which places hold other parts"},
      {Json::array({"head.weight"}), "key mesh.parts: must be a JSON object"}};
  for (const auto& [parts, words] : refused) EXPECT_THAT(mesh_refusal(mesh_with("parts", parts)), HasSubstr(words));
}

TEST(Mesh, HasOneAxisOfStagesAndNoNameTwice) {
  EXPECT_THAT(mesh_refusal(mesh_with_axes({{"dp", 6}})),
              HasSubstr("one axis, and only one, must be of the kind pipeline"));
  EXPECT_THAT(mesh_refusal(mesh_with_axes({{"dp", 1}, {"dp", 2}, {"pp", 3}})),
              HasSubstr("name: two axes have the name 'dp'"));
  Json two = mesh_json({{"dp", 2}, {"pp", 3}}, Json::array(), 0).at("axes");
  two[0]["kind"] = "pipeline";
  EXPECT_THAT(mesh_refusal(mesh_with("axes", two)), HasSubstr("one axis, and only one"));
  two[0]["kind"] = "model";
  EXPECT_THAT(mesh_refusal(mesh_with("axes", two)),
              HasSubstr("'model' is not known; known: pipeline, replicate, shard"));
}

TEST(Mesh, PlacesAreComparableIfTheirAxesAndPartsAreTheSame) {
  const auto mesh = [](Json json, const Json& parts = nullptr) {
    if (!parts.is_null()) json["parts"] = parts;
    return parse_manifest("manifest.json", with_mesh(json)).mesh;
  };
  const auto one = mesh(mesh_of_three_axes(0));
  const auto other_order = mesh(mesh_json({{"tp", 2}, {"pp", 3}, {"dp", 2}}, mesh_of_three_axes(0).at("replicas"), 0));
  Json kinds = mesh_of_three_axes(0);
  for (Json& axis : kinds.at("axes")) {
    if (axis.at("name") == "dp") axis["kind"] = "shard";
  }
  const Json shard = part({"tp"}), shard_of_rows = part({"tp"}, "tp: Shard(dim=1)");

  EXPECT_THAT(why_other_places(one, one), IsEmpty());
  EXPECT_THAT(why_other_places({}, one), IsEmpty()) << "one device serves all places";
  EXPECT_THAT(why_other_places(mesh(mesh_of_three_axes(0), shard), mesh(mesh_of_three_axes(0), shard)), IsEmpty());
  EXPECT_THAT(
      why_other_places(other_order, one),
      ElementsAre(HasSubstr("are tp 2 (tensor), dp 2 (replicate) in the reference and dp 2 (replicate), tp 2")));
  EXPECT_THAT(
      why_other_places(mesh(kinds), one),
      ElementsAre(HasSubstr("are dp 2 (shard), tp 2 (tensor) in the reference and dp 2 (replicate), tp 2")));
  EXPECT_THAT(why_other_places(mesh(mesh_of_three_axes(0), shard), mesh(mesh_of_three_axes(0), shard_of_rows)),
              ElementsAre(HasSubstr("head.weight is in parts (tp: Shard(dim=0)) in the reference and in parts (tp: "
                                    "Shard(dim=1)) in the candidate")));
  EXPECT_THAT(why_other_places({}, mesh(mesh_of_three_axes(0), shard)),
              ElementsAre(HasSubstr("head.weight is whole in the reference and in parts (tp: Shard(dim=0))")));
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
  EXPECT_THAT(words([&] { replica_folder(run / "replica-0", 1); }), HasSubstr("is replica 0 (dp 0), not replica 1"));
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
  EXPECT_THAT(words(), HasSubstr("replica-1/manifest.json: key mesh: says axes dp 2 (replicate), pp 3 (pipeline), "
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
  Json json = mesh_with_axes({{"pp", 65536}});
  json["mesh"]["replicas"] = Json::array({list});
  json["mesh"]["replica"] = 0;
  json["world_size"] = 65536;
  EXPECT_EQ(parse_manifest("manifest.json", json).mesh->world_size(), 65536);
}

TEST(Mesh, FoldersThatAreNotTheReplicasOfOneRunAreRefused) {
  Json whole = mesh_with("replica", 0), in_halves = mesh_with("replica", 1), otherwise = mesh_with("replica", 0);
  in_halves["mesh"]["parts"] = part({"dp"});
  otherwise["mesh"]["parts"] = part({"dp"}, "dp: Shard(dim=1)");
  const char* other_parts = "replica-1/manifest.json: key mesh.parts: is not that of replica 0 of the same run";
  Json own_gradients = mesh_with("replica", 1);
  own_gradients["mesh"]["gradients"] = "own";
  struct Case {
    std::vector<Json> replicas;
    const char* words;
  };
  for (const auto& [replicas, words] :
       {Case{{sample_manifest()}, "replica-0/manifest.json: key mesh.replica: is missing in the folder of replica 0"},
        Case{{whole, in_halves}, other_parts}, Case{{otherwise, in_halves}, other_parts},
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
