// SPDX-License-Identifier: BSD-3-Clause
#include "record/manifest.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "support/error.hpp"
#include "tests/record/sample.hpp"

namespace plumbline {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Manifest parse(const Json& json) {
  return parse_manifest("manifest.json", json);
}

std::string refusal(const Json& json) {
  return error_of<InputError>([&] { parse(json); });
}

/// The sample with the value under a JSON pointer replaced.
Json with(const std::string& pointer, const Json& value) {
  Json json = sample_manifest();
  json[Json::json_pointer(pointer)] = value;
  return json;
}

Json without(const std::string& parent, const std::string& key) {
  Json json = sample_manifest();
  json[Json::json_pointer(parent)].erase(key);
  return json;
}

TEST(Manifest, HoldsWhatTheFileSays) {
  const Manifest manifest = parse(sample_manifest());

  EXPECT_EQ(manifest.run_id, "a-run");
  EXPECT_EQ(manifest.role, "pipeline");
  EXPECT_EQ(manifest.dtype, "float32");
  EXPECT_EQ(manifest.device, "cpu");
  EXPECT_EQ(manifest.transport, "") << "nobody has to say it";
  EXPECT_EQ(manifest.seed, 1);
  EXPECT_EQ(manifest.world_size, 3);
  EXPECT_EQ(manifest.steps, 2);
  EXPECT_EQ(manifest.microbatches, 1);
  EXPECT_EQ(manifest.schedule_name, "afab");
  EXPECT_EQ(manifest.accumulation, "ascending");
  EXPECT_EQ(manifest.accumulation_digest, "");
  ASSERT_EQ(manifest.stages.size(), 3u);
  EXPECT_THAT(manifest.stages[0].units, ElementsAre("embed_tokens", "layers.0"));
  EXPECT_EQ(manifest.stages[2].rank, 2);
  EXPECT_THAT(manifest.tied, ElementsAre(ElementsAre("lm_head.weight", "model.embed_tokens.weight")));
  EXPECT_EQ(manifest.clip_norm, 1.0);
  EXPECT_EQ(manifest.level, RecordLevel::full);
  EXPECT_EQ(manifest.json["note"], "kept") << "an unknown key is kept";
}

TEST(Manifest, OptionalKeysHaveTheirDefaults) {
  Json json = sample_manifest();
  for (const char* key : {"command", "versions", "clock_skew_ns"}) json.erase(key);
  json["schedule"].erase("accumulation_digest");

  const Manifest manifest = parse(json);

  EXPECT_TRUE(manifest.frozen.empty());
  EXPECT_EQ(manifest.loss_scaling, "before");
  EXPECT_EQ(manifest.boundary_gradient_factor, 1);
}

TEST(Manifest, OptionalKeysAreRead) {
  Json json = sample_manifest();
  json["frozen"] = {"model.norm.weight"};
  json["loss_scaling"] = "after";
  json["clip_norm"] = nullptr;

  const Manifest manifest = parse(json);

  EXPECT_THAT(manifest.frozen, ElementsAre("model.norm.weight"));
  EXPECT_EQ(manifest.loss_scaling, "after");
  EXPECT_FALSE(manifest.clip_norm);
}

TEST(Manifest, EveryRequiredKeyIsMissed) {
  struct Case {
    const char *parent, *prefix;
    std::vector<const char*> keys;
  };
  for (const auto& [parent, prefix, keys] :
       {Case{"",
             "",
             {"schema", "run_id", "role", "model", "seed", "dtype", "device", "world_size", "steps", "data", "schedule",
              "stages", "tied", "optimizer", "clip_norm", "level", "started"}},
        Case{"/data", "data.", {"source", "microbatches"}},
        Case{"/schedule", "schedule.", {"name", "chunks_per_rank", "microbatches", "digest", "accumulation"}},
        Case{"/stages/1", "stages[1].", {"stage", "rank", "units"}},
        Case{"/optimizer", "optimizer.", {"name", "learning_rate", "beta1", "beta2", "eps", "weight_decay"}}})
    for (const char* key : keys)
      EXPECT_EQ(refusal(without(parent, key)), std::string("manifest.json: key ") + prefix + key + ": is missing");
}

TEST(Manifest, SgdHasKeysOfItsOwn) {
  const Json sgd = {{"name", "sgd"}, {"learning_rate", 0.1}, {"momentum", 0.9}, {"weight_decay", 0}};
  EXPECT_NO_THROW(parse(with("/optimizer", sgd)));
  for (const char* key : {"learning_rate", "momentum", "weight_decay"}) {
    Json spoilt = sgd;
    spoilt.erase(key);
    EXPECT_EQ(refusal(with("/optimizer", spoilt)), std::string("manifest.json: key optimizer.") + key + ": is missing");
  }
}

TEST(Manifest, AnotherOptimizerBringsKeysOfItsOwn) {
  const auto external = [](const Json& optimizer) {
    Json manifest = with("/optimizer", optimizer);
    manifest["role"] = "external";
    return manifest;
  };
  EXPECT_NO_THROW(parse(external({{"name", "lion"}, {"learning_rate", 0.1}, {"beta", 0.9}})));
  EXPECT_THAT(refusal(external({{"name", "lion"}})), HasSubstr("optimizer.learning_rate: is missing"));
}

TEST(Manifest, ANewerSchemaIsRefusedAsNewer) {
  EXPECT_THAT(refusal(with("/schema", "plumbline-record/3")),
              HasSubstr("written by a newer version (schema plumbline-record/3)"));
  EXPECT_THAT(refusal(with("/schema", "plumbline-record/1")), HasSubstr("is not known"));
  EXPECT_THAT(refusal(with("/schema", "plumbline-verdict/1")), HasSubstr("schema 'plumbline-verdict/1' is not known"));
  EXPECT_THAT(refusal(with("/schema", "plumbline-record/x")), HasSubstr("is not known"));
  EXPECT_THAT(refusal(with("/schema", 1)), HasSubstr("key schema: must be a string"));
}

TEST(Manifest, TheLearningRateScheduleIsToldByOurOwn) {
  Json json = sample_manifest();
  json.erase("learning_rate_schedule");
  EXPECT_THAT(refusal(json), HasSubstr("key learning_rate_schedule: is missing"));
  json["role"] = "external";
  EXPECT_NO_THROW(parse(json));
  EXPECT_THAT(refusal(with("/learning_rate_schedule/warmup_steps", 3)),
              HasSubstr("key learning_rate_schedule.warmup_steps: 3 is not between 0 and 2"));
}

TEST(Manifest, ARunThatWasGoneOnWithSaysWhereItBeginsAndOfWhichRun) {
  Json json = sample_manifest();
  json["first_step"] = 1;
  EXPECT_THAT(refusal(json), HasSubstr("key first_step: is 1, but there is no resumed_from"));
  EXPECT_THAT(refusal(with("/first_step", 2)), HasSubstr("key first_step: 2 is not between 0 and 1"));
  json["resumed_from"] = {{"run_id", "the one before"}, {"step", 1}};
  EXPECT_EQ(parse(json).first_step, 1);
  EXPECT_EQ(parse(json).resumed_from->run_id, "the one before");

  json["resumed_from"]["run_id"] = "a-run";
  EXPECT_THAT(refusal(json), HasSubstr("key resumed_from.run_id: is this run's own"));
  json["resumed_from"] = {{"run_id", "b"}, {"step", 2}};
  EXPECT_THAT(refusal(json), HasSubstr("key resumed_from.step: 2 is not between 1 and 1")) << "no step would be left";
  json["resumed_from"]["step"] = 1;
  json.erase("first_step");
  EXPECT_THAT(refusal(json), HasSubstr("key first_step: is 0, but resumed_from.step is 1"));
  EXPECT_EQ(parse(sample_manifest()).first_step, 0);
}

TEST(Manifest, NumbersThatContradictEachOtherAreRefused) {
  EXPECT_THAT(refusal(with("/schedule/microbatches", 3)),
              HasSubstr("key schedule.microbatches: is not data.microbatches, 1"));
  EXPECT_THAT(refusal(with("/clock_skew_ns", -1)), HasSubstr("key clock_skew_ns: is negative"));
  EXPECT_THAT(refusal(with("/schedule/chunks_per_rank", 2)), HasSubstr("key stages: are 3, but world_size x"));
}

TEST(Manifest, ARoleThatDoesNotFitIsRefused) {
  EXPECT_THAT(refusal(with("/role", "reference")), HasSubstr("key world_size: is 3, but a reference is one device"));

  Json json = one_stage_manifest("reference");
  EXPECT_NO_THROW(parse(json));
  json["schedule"]["name"] = "afab";
  EXPECT_THAT(refusal(json), HasSubstr("key schedule.name: is 'afab', but a reference's is 'sequential'"));
}

TEST(Manifest, ValuesOfAnotherKindAreRefused) {
  struct Case {
    const char* key;
    Json value;
    const char* words;
  };
  for (const auto& [key, value, words] :
       {Case{"role", "oracle", "'oracle' is not known; known: reference, pipeline, external"},
        Case{"dtype", "float8", "'float8' is not known; known: float32, float64, bfloat16, float16, mixed"},
        Case{"world_size", 0, "0 is not between 1"}, Case{"world_size", 2.5, "must be an integer"},
        Case{"steps", "5", "must be an integer"},
        Case{"seed", 18446744073709551615u, "18446744073709551615 is not between"},
        Case{"model", "llama", "must be a JSON object"}, Case{"clip_norm", "1", "must be a number"},
        Case{"level", "all", "'all' is not known"}, Case{"schedule/accumulation", "random", "'random' is not known"},
        Case{"optimizer/eps", "1e-8", "must be a number"}, Case{"loss_scaling", "never", "'never' is not known"},
        Case{"frozen", "none", "must be a list of strings"}}) {
    std::string name = key;
    std::ranges::replace(name, '/', '.');
    EXPECT_THAT(refusal(with(std::string("/") + key, value)), HasSubstr("key " + name + ": " + words));
  }
  EXPECT_THAT(refusal(Json::array()), HasSubstr("must be a JSON object"));
}

TEST(Manifest, StagesStandInOrderOnRanksThatExist) {
  EXPECT_THAT(refusal(with("/stages/1/stage", 2)), HasSubstr("key stages[1].stage: is 2 where 1 comes next"));
  EXPECT_THAT(refusal(with("/stages/1/rank", 3)), HasSubstr("key stages[1].rank: 3 is not between 0 and 2"));
  EXPECT_THAT(refusal(with("/stages/1/units", {1})), HasSubstr("key stages[1].units: must be a list of strings"));
}

TEST(Manifest, WithoutAStageItSaysWhatTheRecorderCouldNotSee) {
  Json json = with("/stages", Json::array());
  EXPECT_THAT(refusal(json), HasSubstr("key stages: must list at least one stage"));
  json["role"] = "external";
  json["not_recorded"] = {{{"what", "parameters"}, {"why", "torch 3.0 has no named_parameters"}}};
  EXPECT_THAT(refusal(json), HasSubstr("; not recorded: parameters (torch 3.0 has no named_parameters"));
}

TEST(Manifest, AListedAccumulationNamesItsList) {
  Json json = with("/schedule/accumulation", "listed");
  EXPECT_THAT(refusal(json), HasSubstr("key schedule.accumulation_digest: must be given"));

  json["schedule"]["accumulation_digest"] = some_digest;
  EXPECT_EQ(parse(json).accumulation_digest, some_digest);
}

TEST(Manifest, OnlySomeoneElsesTrainerMayHaveNoSchedule) {
  Json json = with("/schedule/digest", nullptr);
  EXPECT_THAT(refusal(json), HasSubstr("key schedule.digest: must be a string"));

  json["role"] = "external";
  EXPECT_EQ(parse(json).schedule_digest, "");
  json["schedule"].erase("digest");
  EXPECT_THAT(refusal(json), HasSubstr("key schedule.digest: is missing")) << "it says so with null";
}

TEST(ReadManifest, AFolderWithoutOneIsNoRecordAndABrokenFileIsNamedWithItsLine) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of<InputError>([&] { read_manifest(folder.path()); }), HasSubstr("holds no manifest.json"));
  folder.file("manifest.json", "{\n  \"schema\": \"plumbline-");
  EXPECT_THAT(error_of<InputError>([&] { read_manifest(folder.path()); }), HasSubstr("manifest.json:2:"));
}

}  // namespace
}  // namespace plumbline
