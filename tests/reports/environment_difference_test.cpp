#include "reports/environment_difference.hpp"

#include <gmock/gmock.h>

namespace plumbline {
namespace {

Manifest manifest_of(const char* json) {
  Manifest manifest;
  manifest.device = "cpu";
  manifest.json = Json::parse(json);
  return manifest;
}

TEST(EnvironmentDifference, NamesWhatDiffersAndWhatOnlyOneTells) {
  const auto reference = manifest_of(R"({"versions": {"libtorch": "2.11.0", "compiler": "g++"},
                                         "environment": {"tf32": false}, "machine": {"cores": 2}})");
  const auto candidate = manifest_of(R"({"versions": {"libtorch": "2.10.0", "compiler": "g++", "mpi": "4.1"},
                                         "environment": {"tf32": true, "OMP": null}, "machine": {"cores": 2}})");

  const auto differences = environment_difference(reference, candidate);

  ASSERT_EQ(differences.size(), 3U) << "not MPI: a reference has none";
  EXPECT_EQ(differences[0].key, "environment/OMP");
  EXPECT_EQ(differences[0].reference, "-");
  EXPECT_EQ(differences[1].key, "environment/tf32");
  EXPECT_EQ(differences[1].candidate, "true");
  EXPECT_EQ(differences[2].key, "versions/libtorch");
  EXPECT_EQ(differences[2].reference, "2.11.0");
}

TEST(EnvironmentDifference, OfTheSameNothingAndOfNothingNothing) {
  const auto full = manifest_of(R"({"versions": {"libtorch": "2.11.0"}})");

  EXPECT_TRUE(environment_difference(full, full).empty());
  EXPECT_TRUE(environment_difference(manifest_of("{}"), manifest_of("{}")).empty());
}

TEST(EnvironmentDifference, WhatOnlyProgramsThatSendMessagesHaveIsNone) {
  const auto reference = manifest_of(R"({"versions": {"libtorch": "2.11.0"}})");
  const auto candidate = manifest_of(R"({"versions": {"libtorch": "2.11.0", "mpi": "4.1", "nccl": "2.28"}})");

  EXPECT_TRUE(environment_difference(reference, candidate).empty());
}

}  // namespace
}  // namespace plumbline
