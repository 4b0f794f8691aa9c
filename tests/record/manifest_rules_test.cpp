// SPDX-License-Identifier: BSD-3-Clause
// Rules of manifest.json that apply only to some roles or keys, or at limits; what follows from the role.
#include <gmock/gmock.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "record/manifest.hpp"
#include "record/not_recorded.hpp"
#include "record/required_tables.hpp"
#include "support/error.hpp"
#include "tests/record/sample.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ManifestRules : public ::testing::Test {
 protected:
  Manifest read() const { return parse_manifest("manifest.json", json_); }
  std::string refusal() const {
    return error_of<InputError>([&] { read(); });
  }
  /// With one value more; nothing else of the sample is changed.
  std::string refusal_with(const std::string& pointer, const Json& value) const {
    Json json = json_;
    json[Json::json_pointer(pointer)] = value;
    return error_of<InputError>([&] { parse_manifest("manifest.json", json); });
  }

  Json json_ = sample_manifest();
};

TEST_F(ManifestRules, AModelMayCountItsLayersOtherwiseAndTheTransportIsReadWhereItIsSaid) {
  json_["model"].erase("num_hidden_layers");
  EXPECT_NO_THROW(read());
  json_["model"]["num_hidden_layers"] = "many";
  json_["transport"] = "threads";
  EXPECT_EQ(read().transport, "threads");
}

TEST_F(ManifestRules, AModelHasNoMoreLayersThanTheStagesHaveUnits) {
  json_["model"]["num_hidden_layers"] = 4;
  EXPECT_NO_THROW(read()) << "as many as units";
  json_["model"]["num_hidden_layers"] = 5;
  EXPECT_THAT(refusal(), HasSubstr("key model.num_hidden_layers: is 5, but the stages list 4 units"));
  json_["role"] = "external";
  EXPECT_THAT(refusal(), HasSubstr("num_hidden_layers")) << "whoever names units as ours are";

  json_["stages"][0]["units"] = {"first_half"};
  EXPECT_NO_THROW(read()) << "a unit of someone else's may hold several layers";
  json_["role"] = "pipeline";
  EXPECT_THAT(refusal(), HasSubstr("key model.num_hidden_layers: is 5, but the stages list 3 units"));
}

TEST_F(ManifestRules, EachGroupOfTiedWeightsListsTwoNames) {
  EXPECT_THAT(refusal_with("/tied", 3), HasSubstr("key tied: must be a list of lists of names"));
  const Json good = {"a", "b"};
  for (const Json& bad : {Json::array({"c"}), Json({{"c", "d"}, {"e", "f"}}), Json::array({"c", 4}), Json("cd")})
    EXPECT_THAT(refusal_with("/tied", Json::array({good, bad})), HasSubstr("key tied: each element must list")) << bad;
  EXPECT_THAT(refusal_with("/tied", Json::array({good, Json::array({"c", "c"})})), HasSubstr("names c twice"));
  EXPECT_THAT(refusal_with("/tied", Json::array({good, good})), HasSubstr("key tied: names a twice"));
  EXPECT_THAT(refusal_with("/tied", Json::array({good, {"c", "b"}})), HasSubstr("key tied: names b twice"));

  json_["tied"] = Json::array({good, Json::array({"c", "d", "e"})});
  EXPECT_THAT(read().tied, ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d", "e")));
}

TEST_F(ManifestRules, TheLearningRateScheduleIsReadOfAnyRole) {
  json_["learning_rate_schedule"] = {
      {"warmup_steps", 1}, {"start_factor", 0.25}, {"final_factor", 0.125}, {"total_steps", 9}};
  for (const char* role : {"pipeline", "external"}) {
    json_["role"] = role;
    const auto schedule = read().learning_rate_schedule.value();
    EXPECT_EQ(schedule.warmup_steps, 1);
    EXPECT_EQ(schedule.start_factor, 0.25);
    EXPECT_EQ(schedule.final_factor, 0.125);
    EXPECT_EQ(schedule.total_steps, 9);
    EXPECT_EQ(schedule.curve, "cosine");
  }
  auto& schedule = json_["learning_rate_schedule"];
  schedule["curve"] = "wsd";
  EXPECT_THAT(refusal(), HasSubstr("decay_steps"));
  schedule["decay_steps"] = 8;
  EXPECT_EQ(read().learning_rate_schedule->decay_steps, 8);
  schedule["decay_steps"] = 9;
  EXPECT_THAT(refusal(), HasSubstr("key learning_rate_schedule.decay_steps: 9 is not between 1 and 8"));
  schedule["curve"] = "linear";
  EXPECT_THAT(refusal(), HasSubstr("decay_steps: is a key of the curve wsd"));
  schedule["curve"] = "parabola";
  EXPECT_THAT(refusal(), HasSubstr("key learning_rate_schedule.curve"));
}

TEST_F(ManifestRules, TheDigestIsOfAKnownKind) {
  json_["role"] = "external";
  for (const char* kind : {"xxh3-128", "position-sum-128"}) {
    json_["digest"] = kind;
    EXPECT_EQ(read().json.at("digest"), kind);
  }
  EXPECT_THAT(refusal_with("/digest", "md5"),
              HasSubstr("key digest: 'md5' is not known; known: xxh3-128, position-sum-128"));
}

TEST_F(ManifestRules, EvaluationsAreReadWithTheirSource) {
  json_["evaluation"] = {{"every", 2}, {"microbatches", 3}, {"source", 4}};
  EXPECT_THAT(refusal(), HasSubstr("key evaluation.source: must be a string"));
  json_["evaluation"]["source"] = "held out";
  EXPECT_EQ(read().evaluation.value().microbatches, 3);
}

TEST_F(ManifestRules, AnEvaluationStandsBehindEachSoManyStepsAndBehindTheLast) {
  Manifest manifest;
  manifest.steps = 7;
  const auto evaluated = [&] {
    std::vector<std::int64_t> steps;
    for (std::int64_t step = 0; step < manifest.steps; ++step)
      if (manifest.evaluates_after(step)) steps.push_back(step);
    return steps;
  };

  EXPECT_THAT(evaluated(), ElementsAre());
  manifest.evaluation = EvaluationPlan{3, 1};
  EXPECT_THAT(evaluated(), ElementsAre(2, 5, 6));
  manifest.evaluation = EvaluationPlan{0, 1};
  EXPECT_THAT(evaluated(), ElementsAre(6));
}

TEST_F(ManifestRules, OnlyAnExternalRecordAddsItsNormInAnotherWay) {
  json_["norm_order"] = "canonical";
  json_["clip_epsilon"] = 0;
  EXPECT_NO_THROW(read());
  EXPECT_THAT(refusal_with("/norm_order", "per_rank"), HasSubstr("key norm_order: is 'per_rank', which is allowed"));
  EXPECT_THAT(refusal_with("/norm_order", "any"), HasSubstr("key norm_order: 'any' is not known"));
  EXPECT_THAT(refusal_with("/clip_epsilon", 1e-6), HasSubstr("key clip_epsilon: is not 0, which is allowed"));
  EXPECT_THAT(refusal_with("/clip_epsilon", -1e-6), HasSubstr("key clip_epsilon: is negative"));

  json_["role"] = "external";
  json_["norm_order"] = "per_rank";
  json_["clip_epsilon"] = 1e-6;
  EXPECT_EQ(read().norm_order, "per_rank");
  EXPECT_EQ(read().clip_epsilon, 1e-6);
  EXPECT_THAT(refusal_with("/clip_epsilon", -1e-6), HasSubstr("key clip_epsilon: is negative"));
}

TEST_F(ManifestRules, NormsOfAnotherRunAreNamedByItsIdRankAndDigest) {
  EXPECT_THAT(refusal_with("/run_id", ""), HasSubstr("key run_id: must not be empty"));
  const Json from = {{"run_id", "two"}, {"rank", 0}, {"digest", std::string(32, 'a')}};
  EXPECT_THAT(refusal_with("/norms_from", from), HasSubstr("key norms_from: is allowed only in an external record"));
  json_["role"] = "external";
  json_["norms_from"] = from;
  EXPECT_EQ(read().norms_from->digest, std::string(32, 'a'));
  EXPECT_THAT(refusal_with("/norms_from/digest", "a"), HasSubstr("key norms_from.digest: is no digest of 32"));
}

TEST_F(ManifestRules, StagesOfSomeoneElsesNeedNotFillTheRanksEvenly) {
  json_["world_size"] = 2;
  json_["stages"][2]["rank"] = 0;
  EXPECT_THAT(refusal(), HasSubstr("key stages: are 3, but world_size x"));
  json_["role"] = "external";
  EXPECT_EQ(read().stages.size(), 3U);
}

TEST_F(ManifestRules, KeysThatMayBeAbsentAreOfTheirKindWhereTheyStand) {
  EXPECT_THAT(refusal_with("/command", "train"), HasSubstr("key command: must be a list of strings"));
  for (const char* key : {"versions", "machine", "environment"})
    EXPECT_THAT(refusal_with(std::string("/") + key, "x"), HasSubstr(std::string("key ") + key + ": must be a JSON"));
  EXPECT_THAT(refusal_with("/environment/attention", 1), HasSubstr("key environment.attention: must be a string"));
  EXPECT_THAT(refusal_with("/clock_skew_ns", "1"), HasSubstr("key clock_skew_ns: must be a number"));

  json_["environment"] = {{"attention", nullptr}};
  json_["clock_skew_ns"] = nullptr;
  EXPECT_NO_THROW(read());
}

TEST_F(ManifestRules, TheFirstUnitIsThatOfTheFirstStageThatHasAny) {
  Manifest manifest;
  manifest.stages = {{0, 0, {}}};
  EXPECT_EQ(first_unit(manifest), "");
  manifest.stages = {{0, 0, {}}, {1, 1, {"b", "c"}}, {2, 2, {"d"}}};
  EXPECT_EQ(first_unit(manifest), "b");
}

TEST_F(ManifestRules, WhatAnExternalRecordAloneMaySayIsRefusedOfOurs) {
  const std::vector<std::pair<std::string, Json>> external = {{"every", 2},
                                                              {"digest", "position-sum-128"},
                                                              {"boundary_gradient_factor", 0.125},
                                                              {"optimizer.nesterov", true},
                                                              {"optimizer.dampening", 0.5},
                                                              {"optimizer.maximize", true},
                                                              {"optimizer.amsgrad", true},
                                                              {"optimizer.groups", 2},
                                                              {"optimizer.name", "lion"},
                                                              {"schedule.accumulation", "descending"}};
  for (const auto& [key, value] : external) {
    std::string pointer = "/" + key;
    std::ranges::replace(pointer, '.', '/');
    for (const char* role : {"pipeline", "reference"}) {
      json_ = sample_manifest();
      json_["role"] = role;
      EXPECT_THAT(refusal_with(pointer, value), HasSubstr("key " + key + ": ")) << role;
    }
    json_["role"] = "external";
    json_[Json::json_pointer(pointer)] = value;
    EXPECT_NO_THROW(read()) << key;
  }
}

TEST_F(ManifestRules, DecayThreadsAndFrozenAreWhatTheySay) {
  EXPECT_THAT(refusal_with("/optimizer/decay", "sometimes"),
              HasSubstr("key optimizer.decay: 'sometimes' is not known"));
  for (const Json& threads : {Json(0), Json(-3), Json("many"), Json(1.5)})
    EXPECT_THAT(refusal_with("/threads", threads), HasSubstr("key threads: ")) << threads;
  EXPECT_THAT(refusal_with("/frozen", {"a", "b", "a"}), HasSubstr("key frozen: names one parameter twice"));

  json_["optimizer"]["decay"] = "matrices";
  json_["threads"] = 1;
  json_["frozen"] = {"a", "b"};
  EXPECT_NO_THROW(read());
}

TEST_F(ManifestRules, ObjectsOfTheFormatHaveNoOtherKeys) {
  const std::vector<std::pair<std::string, std::string>> all = {
      {"/data/seed", "key data.seed: is not known"},       {"/schedule/chunk", "key schedule.chunk: is not known"},
      {"/stages/0/Units", "did you mean units?"},          {"/optimizer/DECAY", "did you mean decay?"},
      {"/optimizer/nu", "key optimizer.nu: is not known"}, {"/learning_rate_schedule/warmup", "is not known"},
      {"/Loss_Scaling", "did you mean loss_scaling?"},     {"/clipnorm", "did you mean clip_norm?"}};
  for (const auto& [pointer, words] : all) EXPECT_THAT(refusal_with(pointer, 1), HasSubstr(words)) << pointer;
  json_["evaluation"] = {{"every", 1}, {"microbatches", 1}, {"seed", 1}};
  EXPECT_THAT(refusal(), HasSubstr("key evaluation.seed: is not known"));
  json_.erase("evaluation");
  EXPECT_NO_THROW(read()) << "further keys of the manifest itself are kept: note";

  json_["role"] = "external";
  EXPECT_THAT(refusal_with("/optimizer/DECAY", "matrices"),
              HasSubstr("key optimizer.DECAY: is not known; did you mean"));
  EXPECT_THAT(refusal_with("/optimizer/weight-decay", 1), HasSubstr("did you mean weight_decay?"));
  json_["optimizer"]["clip_threshold"] = 1;
  EXPECT_NO_THROW(read()) << "other optimizers have keys of their own";
}

TEST_F(ManifestRules, DigestsAreDigestsAndStatedWhereTheyAreUsed) {
  for (const char* role : {"pipeline", "external"}) {
    json_["role"] = role;
    for (const Json& bad : {Json(""), Json("sha256:ab"), Json(std::string(32, 'A')), Json(3)})
      EXPECT_THAT(refusal_with("/schedule/digest", bad), HasSubstr("key schedule.digest: ")) << role << bad;
    for (const Json& stated : {Json(""), Json(std::string(32, 'a'))})
      EXPECT_THAT(refusal_with("/schedule/accumulation_digest", stated),
                  HasSubstr("must be null where accumulation is 'ascending'"));
  }
  json_["schedule"]["accumulation"] = "listed";
  EXPECT_THAT(refusal(), HasSubstr("key schedule.accumulation_digest: must be given"));
  EXPECT_THAT(refusal_with("/schedule/accumulation_digest", ""), HasSubstr("is not a digest"));
  json_["schedule"]["accumulation_digest"] = std::string(32, 'a');
  EXPECT_NO_THROW(read());
}

Json of(const std::string& what) {
  return Json::array({{{"what", what}, {"why", "torch hides it"}}});
}

Json external_manifest(const Json& not_recorded) {
  Json json = sample_manifest();
  json["role"] = "external";
  json["not_recorded"] = not_recorded;
  return json;
}

std::string refusal(const Json& json) {
  return error_of<InputError>([&] { parse_manifest("manifest.json", json); });
}

TEST(NotRecordedKey, IsReadOfTheManifest) {
  EXPECT_THAT(parse_manifest("manifest.json", external_manifest(of("receives"))).not_recorded,
              ElementsAre(NotRecorded{"receives", "torch hides it"}));
  EXPECT_THAT(parse_manifest("manifest.json", sample_manifest()).not_recorded, IsEmpty());
}

TEST(NotRecordedKey, EveryKindIsKnown) {
  for (const auto& kind : kinds_of_rows()) {
    const Manifest manifest = parse_manifest("manifest.json", external_manifest(of(kind)));
    EXPECT_TRUE(lists_any(manifest.not_recorded, {"waits", kind}));
    EXPECT_EQ(lists_any(manifest.not_recorded, {"waits"}), kind == "waits");
  }
}

TEST(NotRecordedKey, AnotherFormIsRefusedWithItsKey) {
  EXPECT_THAT(refusal(external_manifest(of("weights"))), HasSubstr("not_recorded[0].what"));
  EXPECT_THAT(refusal(external_manifest("receives")), HasSubstr("key not_recorded"));
  EXPECT_THAT(refusal(external_manifest(nullptr)), HasSubstr("key not_recorded"));
  EXPECT_THAT(refusal(external_manifest(Json::array({"receives"}))), HasSubstr("not_recorded[0]"));
  EXPECT_THAT(refusal(external_manifest(Json::array({{{"what", "receives"}}}))), HasSubstr("not_recorded[0].why"));

  Json of_ours = external_manifest(of("receives"));
  of_ours["role"] = "pipeline";
  EXPECT_THAT(refusal(of_ours), HasSubstr("key not_recorded: is allowed only in an external record"));
}

TEST(NotRecordedKey, WhatCrossesMayThenBeAbsent) {
  const auto demand = [](const char* kind) {
    return demand_of("boundaries.csv", parse_manifest("manifest.json", external_manifest(of(kind))), 0);
  };
  EXPECT_EQ(demand("receives"), Demand::header);
  EXPECT_EQ(demand("boundaries"), Demand::header);
  EXPECT_EQ(demand("losses"), Demand::rows);
}

TEST(NotRecordedKey, AVersionOfTorchIsTakenWhereItLooksLikeOne) {
  const auto torch = [](const Json& version) {
    Json json = sample_manifest();
    json["versions"] = {{"torch", version}};
    return parse_manifest("manifest.json", json).version_of("torch");
  };
  EXPECT_EQ(torch("2.16.0+cu130"), "2.16.0+cu130");
  EXPECT_EQ(torch("<script>"), "");
  EXPECT_EQ(torch(2), "");
  Json without = sample_manifest();
  without.erase("versions");
  EXPECT_EQ(parse_manifest("manifest.json", without).version_of("torch"), "");
}

const Json sizes = {{"vocab_size", 8},
                    {"hidden_size", 4},
                    {"intermediate_size", 8},
                    {"num_hidden_layers", 1},
                    {"num_attention_heads", 2}};

TEST(Conventions, OfOurOwnTrainersAreExactAndNothingIsOptional) {
  Manifest manifest;
  for (const char* role : {"external", "reference", "pipeline"}) {
    manifest.set_role(role);
    const bool own = !manifest.external();
    const Conventions& said = manifest.conventions;
    EXPECT_EQ(own, std::string(role) != "external");
    EXPECT_EQ(said.optional.empty(), own) << role;
    EXPECT_EQ(said.python_recorder, !own) << role;
    for (const bool exact : {said.exact_formulas, said.exact_bytes, said.generated_lists, said.config_of_a_llama})
      EXPECT_EQ(exact, own) << role;
  }
}

}  // namespace
}  // namespace plumbline::testing
