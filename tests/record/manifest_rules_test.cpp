// SPDX-License-Identifier: BSD-3-Clause
// Rules of manifest.json that apply only to some roles or keys, or at limits.
#include <gmock/gmock.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "record/manifest.hpp"
#include "support/error.hpp"
#include "tests/record/sample.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  EXPECT_THAT(refusal_with("/tied", Json::array({good, Json::array({"c", "c"})})), HasSubstr("names one weight twice"));

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
  }
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

}  // namespace
}  // namespace plumbline::testing
