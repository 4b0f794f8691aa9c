// What other people's trainers may keep: all between two numbers.
#include <gtest/gtest.h>

#include "harness/judge/expected/model_bytes.hpp"

namespace plumbline::testing {
namespace {

using namespace judging;

Json small(bool tied) {
  return {{"vocab_size", 8},        {"hidden_size", 4},           {"intermediate_size", 6},
          {"num_hidden_layers", 1}, {"num_attention_heads", 2},   {"num_key_value_heads", 1},
          {"head_dim", 3},          {"tie_word_embeddings", tied}};
}

Manifest manifest_of(const Json& optimizer) {
  Manifest manifest;
  manifest.role = "pipeline";
  manifest.dtype = "float32";
  manifest.json = {{"optimizer", optimizer}};
  return manifest;
}

const Json adamw = {{"name", "adamw"}};
const Json momentum = {{"name", "sgd"}, {"momentum", 0.9}};
const Json plain = {{"name", "sgd"}, {"momentum", 0.0}};

/// Of one's own: a weight of 8 x 4 with two names, of which one unit each, and a bias in another dtype.
ExpectedModel of_ones_own() {
  ExpectedModel model;
  model.llama = false;
  model.units = {"in", "out"};
  model.parameters = {{"in.weight", "in", {8, 4}, "float32"},
                      {"in.bias", "in", {4}, "float64"},
                      {"out.weight", "out", {8, 4}, "float32"}};
  return model;
}

Manifest external(const Json& optimizer) {
  Manifest manifest = manifest_of(optimizer);
  manifest.role = "external";
  return manifest;
}

Manifest tied_external(const Json& optimizer) {
  Manifest manifest = external(optimizer);
  manifest.tied = {{"in.weight", "out.weight"}};
  return manifest;
}

constexpr std::int64_t counts = 8;  // bytes in which an optimiser may count a parameter's steps

TEST(StateRange, OfOurOwnIsOneNumber) {
  const auto model = expected_model(small(true));
  const StateRange range = state_range(model, {"embed_tokens", "lm_head"}, manifest_of(adamw));

  EXPECT_EQ(range.least, (StateBytes{128, 256, 2 * 128 + 4}));
  EXPECT_EQ(range.most, range.least);
  EXPECT_TRUE(range.optimizer_known);
}

TEST(StateRange, OfAnUnknownOptimiserKnowsWeightsAndGradientsAlone) {
  for (const char* role : {"pipeline", "external"}) {
    Manifest manifest = external({{"name", "lion"}});
    manifest.role = role;
    const StateRange range = state_range(expected_model(small(false)), {"norm"}, manifest);

    EXPECT_FALSE(range.optimizer_known) << role;
    EXPECT_EQ(range.least, (StateBytes{16, 16, 0})) << role;
    EXPECT_EQ(range.most, (StateBytes{16, 16, counts})) << role;
  }
}

TEST(StateRange, OfAnothersTiedWeightIsThatOfOneOrTwoWhereBothUsesAre) {
  const auto model = expected_model(small(true));

  const StateRange both = state_range(model, {"embed_tokens", "lm_head"}, external(adamw));
  EXPECT_EQ(both.least, (StateBytes{128, 128, 256}));
  EXPECT_EQ(both.most, (StateBytes{256, 256, 512 + 2 * counts}));
  for (const char* unit : {"embed_tokens", "lm_head"}) {
    const StateRange one = state_range(model, {unit}, external(adamw));
    EXPECT_EQ(one.least, (StateBytes{128, 128, 256})) << unit;
    EXPECT_EQ(one.most, (StateBytes{128, 128, 256 + counts})) << unit;
  }
  const StateRange untied = state_range(expected_model(small(false)), {"embed_tokens", "lm_head"}, external(adamw));
  EXPECT_EQ(untied.least, (StateBytes{256, 256, 512}));
}

TEST(StateRange, OfAModelOfOnesOwnIsInItsParametersDtypesAndAnySecondUseMayLack) {
  const StateRange all = state_range(of_ones_own(), {"in", "out"}, tied_external(adamw));
  EXPECT_EQ(all.least, (StateBytes{128 + 32, 128 + 32, 2 * (128 + 32)}));
  EXPECT_EQ(all.most, (StateBytes{128 + 32 + 128, 128 + 32 + 128, 2 * (128 + 32 + 128) + 3 * counts}));

  const StateRange second = state_range(of_ones_own(), {"out"}, tied_external(momentum));
  EXPECT_EQ(second.least, StateBytes{});
  EXPECT_EQ(second.most, (StateBytes{128, 128, 128 + counts}));
  EXPECT_EQ(state_range(of_ones_own(), {"out"}, external(momentum)).least, (StateBytes{128, 128, 128})) << "untied";
}

TEST(StateRange, OfAnothersFrozenParameterIsItsValue) {
  Manifest manifest = tied_external(adamw);
  manifest.frozen = {"in.weight"};

  const StateRange range = state_range(of_ones_own(), {"in"}, manifest);

  EXPECT_EQ(range.least, (StateBytes{128 + 32, 32, 64}));
  EXPECT_EQ(range.most, (StateBytes{128 + 32, 32, 64 + counts}));
}

TEST(StateRange, OfAnothersMixedPrecisionMayHoldACopy) {
  Manifest manifest = external(plain);
  manifest.dtype = "mixed";

  const StateRange range = state_range(expected_model(small(false)), {"norm"}, manifest);

  EXPECT_EQ(range.least, (StateBytes{16, 16, 0}));
  EXPECT_EQ(range.most, (StateBytes{16 + 8, 16, counts}));
}

TEST(StateRange, OfManyStagesIsTheirSumAndKnownWhereAllAre) {
  StateRange sum{{1, 2, 3}, {4, 5, 6}, true};
  sum += StateRange{{10, 20, 30}, {40, 50, 60}, true};
  EXPECT_EQ(sum.least, (StateBytes{11, 22, 33}));
  EXPECT_EQ(sum.most, (StateBytes{44, 55, 66}));
  EXPECT_TRUE(sum.optimizer_known);
  sum += StateRange{{}, {}, false};
  EXPECT_FALSE(sum.optimizer_known);
  sum += StateRange{{}, {}, true};
  EXPECT_FALSE(sum.optimizer_known);
}

TEST(BeyondOneDevice, OfOurOwnIsTheCopyOfAWeightWhoseUsesLieApart) {
  const auto model = expected_model(small(true));
  const auto ours = manifest_of(adamw);

  const StateRange apart = beyond_one_device(model, true, ours, ours);
  EXPECT_EQ(apart.least, (StateBytes{128, 0, 260}));
  EXPECT_EQ(apart.most, apart.least);
  const StateRange together = beyond_one_device(model, false, ours, ours);
  EXPECT_EQ(together.most, StateBytes{});
  EXPECT_TRUE(together.optimizer_known);
  EXPECT_FALSE(beyond_one_device(model, true, ours, manifest_of({{"name", "lion"}})).optimizer_known);
}

TEST(BeyondOneDevice, WhereOneRecordIsAnothersIsWhatItsWayOfKeepingLeavesOpen) {
  const auto model = expected_model(small(true));
  const auto both_ways = static_cast<std::int64_t>(model.parameters.size() + 1) * counts;
  for (const auto& [reference, candidate] :
       {std::pair{external(momentum), manifest_of(momentum)}, std::pair{manifest_of(momentum), external(momentum)}}) {
    const StateRange range = beyond_one_device(model, true, reference, candidate);

    EXPECT_EQ(range.most, (StateBytes{128, 128, 128 + both_ways}));
    EXPECT_EQ(range.least, (StateBytes{-128, -128, -128 - both_ways}));
    EXPECT_TRUE(range.optimizer_known);
  }
  const auto untied = expected_model(small(false));
  EXPECT_EQ(beyond_one_device(untied, false, external(plain), external(plain)).most, (StateBytes{0, 0, both_ways}));
  EXPECT_FALSE(
      beyond_one_device(model, true, external({{"name", "lion"}}), external({{"name", "lion"}})).optimizer_known);
}

TEST(BeyondOneDevice, OfAModelOfOnesOwnAreAllUsesOfATiedWeightButTheFirst) {
  Manifest manifest = tied_external(plain);
  EXPECT_EQ(beyond_one_device(of_ones_own(), true, manifest, manifest).most, (StateBytes{128, 128, 4 * counts}));

  manifest.tied = {{"in.weight", "out.weight", "in.bias"}};
  EXPECT_EQ(beyond_one_device(of_ones_own(), true, manifest, manifest).most.parameters, 128 + 32);
  manifest.tied = {{"out.weight", "in.weight"}, {"none", "in.bias"}};
  EXPECT_EQ(beyond_one_device(of_ones_own(), true, manifest, manifest).most.parameters, 128 + 32);
}

}  // namespace
}  // namespace plumbline::testing
