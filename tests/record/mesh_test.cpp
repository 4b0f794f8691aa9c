// SPDX-License-Identifier: BSD-3-Clause
// One of several pipelines: the mesh in its manifest, and which folder is read.
#include "record/mesh.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "tests/approved.hpp"
#include "tests/changed_json.hpp"
#include "tests/record/mesh_json.hpp"
#include "tests/record/sample.hpp"

namespace plumbline {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The sample's three ranks as one of two pipelines.
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

std::string mesh_answer(const Json& json) {
  try {
    parse_manifest("manifest.json", json);
    return "accepted";
  } catch (const InputError& error) {
    return error.what();
  }
}

void write_replica(const std::filesystem::path& folder, const Json& json) {
  make_folder(folder);
  write_file(folder / "manifest.json", json_text(json));
}

TEST(Mesh, ChangesAreAcceptedOrRefusedAsApproved) {
  expect_answers("meshes.txt",
                 [](const std::string& input) { return mesh_answer(with_mesh(changed(sample_mesh(), input))); });
  Json ours = with_mesh(sample_mesh());
  ours["role"] = "reference";
  EXPECT_THAT(mesh_answer(ours), HasSubstr("key mesh: is not allowed, since a reference is one device"));
}

TEST(Mesh, HasUpTo16Axes) {
  Json axes = sample_mesh().at("axes");
  while (axes.size() < 16)
    axes.push_back({{"name", "a" + std::to_string(axes.size())}, {"size", 1}, {"kind", "replicate"}});
  EXPECT_EQ(mesh_answer(mesh_with("axes", axes)), "accepted");
  axes.push_back({{"name", "one more"}, {"size", 1}, {"kind", "replicate"}});
  EXPECT_THAT(mesh_answer(mesh_with("axes", axes)), HasSubstr("key mesh.axes: must be a list of 1 to 16 axes"));
}

TEST(Mesh, GradientsAreReducedUnlessEachReplicaRecordsItsOwn) {
  for (const auto& [mesh, own] : {std::pair{with_mesh(sample_mesh()), false},
                                  {mesh_with("gradients", "reduced"), false},
                                  {mesh_with("gradients", "own"), true}})
    EXPECT_EQ(parse_manifest("manifest.json", mesh).mesh->own_gradients, own);
}

TEST(Mesh, NamesTheRecordsRanksOfTheRun) {
  const Mesh mesh = parse_manifest("manifest.json", with_mesh(sample_mesh())).mesh.value();

  EXPECT_EQ(mesh.world_size(), 6);
  EXPECT_EQ(mesh.name(), "dp 1");
  EXPECT_THAT(mesh.replicas.at(1), ElementsAre(1, 3, 5));
  EXPECT_FALSE(parse_manifest("manifest.json", sample_manifest()).mesh);
}

/// 2 data-parallel times 2 tensor-parallel places, with three stages each.
Json mesh_of_three_axes(std::int64_t place) {
  return mesh_json({{"dp", 2}, {"pp", 3}, {"tp", 2}}, {{0, 2, 4}, {1, 3, 5}, {6, 8, 10}, {7, 9, 11}}, place);
}

Json part(const Json& axes, const std::string& placements = "tp: Shard(dim=0)") {
  return {{"head.weight", {{"axes", axes}, {"placements", placements}}}};
}

TEST(Mesh, NamesAPlaceByItsCoordinates) {
  const Mesh mesh = parse_manifest("manifest.json", with_mesh(mesh_of_three_axes(1))).mesh.value();

  EXPECT_EQ(mesh.name(), "dp 0, tp 1");
  EXPECT_EQ(mesh.place_name(2), "dp 1, tp 0");
  EXPECT_EQ(mesh.sizes(), "dp 2, tp 2");
  EXPECT_EQ(mesh.pipeline().name, "pp");
  const Mesh alone =
      parse_manifest("manifest.json", with_mesh(mesh_json({{"pp", 3}, {"tp", 1}}, Json::array({{0, 1, 2}}), 0)))
          .mesh.value();
  EXPECT_EQ(alone.name(), "the only place") << "an axis of size 1 counts as absent";
}

TEST(Mesh, PlacesWithEqualCoordinatesOnAPartsAxesHoldTheSamePart) {
  Json json = mesh_of_three_axes(0);
  json["parts"] = part({"tp"});
  const Mesh mesh = parse_manifest("manifest.json", with_mesh(json)).mesh.value();

  EXPECT_EQ(mesh.part_at(0, "head.weight"), mesh.part_at(2, "head.weight"));
  EXPECT_NE(mesh.part_at(0, "head.weight"), mesh.part_at(1, "head.weight"));
  EXPECT_EQ(mesh.part_at(0, "another"), mesh.part_at(3, "another"));
}

TEST(Mesh, PlacesAreComparableIfTheirAxesAndPartsAreTheSame) {
  const auto mesh = [](Json json, const Json& parts = nullptr) {
    if (!parts.is_null()) json["parts"] = parts;
    return parse_manifest("manifest.json", with_mesh(json)).mesh;
  };
  const auto one = mesh(mesh_of_three_axes(0));
  const auto other_order = mesh(mesh_json({{"tp", 2}, {"pp", 3}, {"dp", 2}}, mesh_of_three_axes(0).at("replicas"), 0));
  const auto one_more =
      mesh(mesh_json({{"dp", 2}, {"pp", 3}, {"tp", 2}, {"cp", 1}}, mesh_of_three_axes(0).at("replicas"), 0));
  Json kinds = mesh_of_three_axes(0);
  for (Json& axis : kinds.at("axes")) {
    if (axis.at("name") == "dp") axis["kind"] = "shard";
  }
  const Json shard = part({"tp"}), shard_of_rows = part({"tp"}, "tp: Shard(dim=1)");

  EXPECT_THAT(why_other_places(one, one), IsEmpty());
  EXPECT_THAT(why_other_places({}, one), IsEmpty()) << "one device serves all places";
  EXPECT_THAT(why_other_places(one_more, one), IsEmpty()) << "an axis of size 1 counts as absent";
  EXPECT_THAT(why_other_places(mesh(mesh_of_three_axes(0), shard), mesh(mesh_of_three_axes(0), shard)), IsEmpty());
  EXPECT_THAT(
      why_other_places(other_order, one),
      ElementsAre(HasSubstr("are tp 2 (tensor), dp 2 (replicate) in the reference and dp 2 (replicate), tp 2")));
  EXPECT_THAT(why_other_places(mesh(kinds), one),
              ElementsAre(HasSubstr("are dp 2 (shard), tp 2 (tensor) in the reference and dp 2 (replicate), tp 2")));
  EXPECT_THAT(why_other_places(mesh(mesh_of_three_axes(0), shard), mesh(mesh_of_three_axes(0), shard_of_rows)),
              ElementsAre(HasSubstr("head.weight is in parts (tp: Shard(dim=0)) in the reference and in parts (tp: "
                                    "Shard(dim=1)) in the candidate")));
  EXPECT_THAT(why_other_places({}, mesh(mesh_of_three_axes(0), shard)),
              ElementsAre(HasSubstr("head.weight is whole in the reference and in parts (tp: Shard(dim=0))")));
}

TEST(Mesh, FindsAndChoosesReplicasByNumber) {
  const TemporaryFolder folder;
  write_replica(folder / "run/replica-0", mesh_with("replica", 0));
  write_replica(folder / "run/replica-1", mesh_with("replica", 1));
  write_replica(folder / "alone", sample_manifest());

  EXPECT_EQ(replica_folder(folder / "run", 1), folder / "run/replica-1");
  EXPECT_EQ(replica_folder(folder / "run/replica-1", 1), folder / "run/replica-1");
  EXPECT_EQ(replica_folder(folder / "alone", 1), folder / "alone") << "one pipeline, which is not a replica";
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

TEST(Mesh, RefusesAMissingOrUnchosenReplica) {
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

TEST(Mesh, RefusesReplicasOfDifferentRuns) {
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

TEST(Mesh, AcceptsTheLargestNumberOfRanks) {
  Json list = Json::array();
  for (int rank = 0; rank < 65536; ++rank) list.push_back(rank);
  Json json = mesh_with_axes({{"pp", 65536}});
  json["mesh"]["replicas"] = Json::array({list});
  json["mesh"]["replica"] = 0;
  json["world_size"] = 65536;
  EXPECT_EQ(parse_manifest("manifest.json", json).mesh->world_size(), 65536);
}

TEST(Mesh, RefusesFoldersThatAreNotReplicasOfOneRun) {
  Json whole = mesh_with("replica", 0), in_halves = mesh_with("replica", 1), otherwise = mesh_with("replica", 0);
  in_halves["mesh"]["parts"] = part({"dp"});
  otherwise["mesh"]["parts"] = part({"dp"}, "dp: Shard(dim=1)");
  const char* other_parts = "replica-1/manifest.json: key mesh.parts: differs from replica 0 of the same run";
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

}  // namespace
}  // namespace plumbline
