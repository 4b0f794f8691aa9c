// SPDX-License-Identifier: BSD-3-Clause
// The manifest of a run recorded by an external trainer.
#include <gmock/gmock.h>

#include "support/error.hpp"
#include "tests/record/external_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Manifest manifest_of(const ExternalRun& run) {
  const TemporaryFolder folder;
  ExternalRecord(folder / "record", run);
  return read_manifest(folder / "record");
}

TEST(ExternalManifest, SaysWhatTheRunSays) {
  ExternalRun run = external_run();
  run.model = R"({"width": 7})";
  run.schedule = "1f1b";
  run.dtype = "bfloat16";
  run.device = "some GPU";
  run.accumulation = "descending";
  run.loss_scaling = "after";
  run.tied = {{"a.weight", "b.weight"}};
  run.frozen = {"a.bias"};
  run.seed = 11;
  run.data_source = "a corpus";

  const Manifest manifest = manifest_of(run);

  EXPECT_EQ(manifest.json.at("model"), Json({{"width", 7}}));
  EXPECT_EQ(manifest.schedule_name, "1f1b");
  EXPECT_EQ(manifest.dtype, "bfloat16");
  EXPECT_EQ(manifest.device, "some GPU");
  EXPECT_EQ(manifest.accumulation, "descending");
  EXPECT_EQ(manifest.loss_scaling, "after");
  EXPECT_THAT(manifest.tied, ElementsAre(ElementsAre("a.weight", "b.weight")));
  EXPECT_THAT(manifest.frozen, ElementsAre("a.bias"));
  EXPECT_EQ(manifest.seed, 11);
  EXPECT_EQ(manifest.json.at("data").at("source"), "a corpus");
}

TEST(ExternalManifest, TheWayOfTheNormIsToldWhereTheRunClips) {
  ExternalRun run = external_run();
  run.norm_order = "per_rank";
  run.clip_epsilon = 1e-6;
  run.clip_norm = 0.5;
  const Manifest clips = manifest_of(run);
  EXPECT_EQ(clips.clip_norm, 0.5);
  EXPECT_EQ(clips.norm_order, "per_rank");
  EXPECT_EQ(clips.clip_epsilon, 1e-6);

  run.clip_norm.reset();
  const Manifest does_not = manifest_of(run);
  EXPECT_FALSE(does_not.clip_norm);
  EXPECT_EQ(does_not.norm_order, "canonical");
  EXPECT_EQ(does_not.clip_epsilon, 0);
}

TEST(ExternalManifest, ChunksAreTheMostStagesThatARankMayHave) {
  const auto chunks = [](const std::vector<ExternalStage>& stages) {
    return manifest_of(external_run(stages)).chunks_per_rank;
  };

  EXPECT_EQ(chunks({{0, {"a"}}, {1, {"b"}}}), 1);
  EXPECT_EQ(chunks({{0, {"a"}}, {1, {"b"}}, {0, {"c"}}}), 2);
  EXPECT_EQ(chunks({{0, {"a"}}, {1, {"b"}}, {0, {"c"}}, {1, {"d"}}}), 2);
}

TEST(ExternalManifest, ARankWithoutAStageIsRefused) {
  const TemporaryFolder folder;
  for (const std::int64_t rank : {-1, 2}) {
    EXPECT_THAT(
        [&] {
          ExternalRecord(folder / "record", external_run({{0, {"a"}}, {1, {"b"}}}), rank);
        },
        ThrowsMessage<InputError>(HasSubstr("rank " + std::to_string(rank) + " has no stage")));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "record"));
}

}  // namespace
}  // namespace plumbline::testing
