// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "harness/judge/expected/model.hpp"

namespace plumbline::testing {
namespace {

using namespace judging;

Json small(bool tied) {
  return {{"vocab_size", 8},        {"hidden_size", 4},           {"intermediate_size", 6},
          {"num_hidden_layers", 1}, {"num_attention_heads", 2},   {"num_key_value_heads", 1},
          {"head_dim", 3},          {"tie_word_embeddings", tied}};
}

Manifest manifest_of(const Json& optimizer, const std::string& dtype = "float32") {
  Manifest manifest;
  manifest.dtype = dtype;
  manifest.json = {{"optimizer", optimizer}};
  return manifest;
}

const Json adamw = {{"name", "adamw"}};
const Json momentum = {{"name", "sgd"}, {"momentum", 0.9}};
const Json plain = {{"name", "sgd"}, {"momentum", 0.0}};

TEST(StateBytes, ByHand) {
  struct Case {
    bool tied;
    std::vector<std::string> units;
    Manifest manifest;
    std::optional<StateBytes> bytes;
  };
  const std::vector<Case> cases = {
      // q 6x4, k and v 3x4, o 4x6, gate and up 6x4, down 4x6, two norms of 4: 24+12+12+24+24+24+24+4+4 = 152 elements,
      // 9
      // tensors
      {false, {"layers.0"}, manifest_of(adamw), StateBytes{608, 608, 2 * 608 + 9 * 4}},
      {false, {"norm"}, manifest_of(adamw, "float64"), StateBytes{32, 32, 64 + 4}},  // except for the step counts
      {true, {"norm"}, manifest_of(adamw, "bfloat16"), StateBytes{8, 8, 16 + 4}},
      // A master, its copy, and float32 moments.
      {false, {"norm"}, manifest_of(adamw, "mixed"), StateBytes{4 * 6, 4 * 4, 4 * 8 + 4}},
      {false, {"norm"}, manifest_of(momentum), StateBytes{16, 16, 16}},
      {false, {"norm"}, manifest_of(plain), StateBytes{16, 16, 0}},
      // A tied weight on one stage is one parameter with two accumulators.
      {true, {"embed_tokens", "lm_head"}, manifest_of(adamw), StateBytes{128, 256, 2 * 128 + 4}},
      {false, {"norm"}, manifest_of({{"name", "lion"}}), std::nullopt}};
  for (const auto& [tied, units, manifest, bytes] : cases)
    EXPECT_EQ(state_bytes(expected_model(small(tied)), units, manifest), bytes) << manifest.dtype << manifest.json;
}

TEST(StateBytes, FrozenParameterHasAValueOnly) {
  auto manifest = manifest_of(adamw);
  manifest.frozen = {"model.norm.weight"};

  EXPECT_EQ(state_bytes(expected_model(small(false)), {"norm"}, manifest), (StateBytes{16, 0, 0}));
}

/// A custom model: a weight of 8 x 4 with two names, in two units, and a bias in another dtype.
ExpectedModel of_ones_own() {
  ExpectedModel model;
  model.units = {"in", "out"};
  model.parameters = {{"in.weight", "in", {8, 4}, "float32"},
                      {"in.bias", "in", {4}, "float64"},
                      {"out.weight", "out", {8, 4}, "float32"}};
  return model;
}

Manifest of_another(const Json& optimizer) {
  Manifest manifest = manifest_of(optimizer);
  manifest.set_role("external");
  return manifest;
}

Manifest of_another_tied(const Json& optimizer) {
  Manifest manifest = of_another(optimizer);
  manifest.tied = {{"in.weight", "out.weight"}};
  return manifest;
}

constexpr std::int64_t count_bytes = 8;  // bytes of an optimizer's step count for a parameter

TEST(StateRange, OfOurTrainersIsOneNumber) {
  const auto model = expected_model(small(true));
  const StateRange range = state_range(model, {"embed_tokens", "lm_head"}, manifest_of(adamw));

  EXPECT_EQ(range.least, (StateBytes{128, 256, 2 * 128 + 4}));
  EXPECT_EQ(range.most, range.least);
  EXPECT_TRUE(range.optimizer_known);
}

TEST(StateRange, OfAnUnknownOptimizerCoversOnlyWeightsAndGradients) {
  for (const char* role : {"pipeline", "external"}) {
    Manifest manifest = of_another({{"name", "lion"}});
    manifest.set_role(role);
    const StateRange range = state_range(expected_model(small(false)), {"norm"}, manifest);

    EXPECT_FALSE(range.optimizer_known) << role;
    EXPECT_EQ(range.least, (StateBytes{16, 16, 0})) << role;
    EXPECT_EQ(range.most, (StateBytes{16, 16, count_bytes})) << role;
  }
}

TEST(StateRange, OfAnExternalTiedWeightAllowsOneOrTwoCopies) {
  const auto model = expected_model(small(true));

  const StateRange both = state_range(model, {"embed_tokens", "lm_head"}, of_another(adamw));
  EXPECT_EQ(both.least, (StateBytes{128, 128, 256}));
  EXPECT_EQ(both.most, (StateBytes{256, 256, 512 + 2 * count_bytes}));
  for (const char* unit : {"embed_tokens", "lm_head"}) {
    const StateRange one = state_range(model, {unit}, of_another(adamw));
    EXPECT_EQ(one.least, (StateBytes{128, 128, 256})) << unit;
    EXPECT_EQ(one.most, (StateBytes{128, 128, 256 + count_bytes})) << unit;
  }
  const StateRange untied = state_range(expected_model(small(false)), {"embed_tokens", "lm_head"}, of_another(adamw));
  EXPECT_EQ(untied.least, (StateBytes{256, 256, 512}));
}

TEST(StateRange, OfAnotherModelUsesItsParametersDtypes) {
  const StateRange all = state_range(of_ones_own(), {"in", "out"}, of_another_tied(adamw));
  EXPECT_EQ(all.least, (StateBytes{128 + 32, 128 + 32, 2 * (128 + 32)}));
  EXPECT_EQ(all.most, (StateBytes{128 + 32 + 128, 128 + 32 + 128, 2 * (128 + 32 + 128) + 3 * count_bytes}));

  const StateRange second = state_range(of_ones_own(), {"out"}, of_another_tied(momentum));
  EXPECT_EQ(second.least, StateBytes{});
  EXPECT_EQ(second.most, (StateBytes{128, 128, 128 + count_bytes}));
  EXPECT_EQ(state_range(of_ones_own(), {"out"}, of_another(momentum)).least, (StateBytes{128, 128, 128})) << "untied";
}

TEST(StateRange, OfAnExternalFrozenParameterIsItsValue) {
  Manifest manifest = of_another_tied(adamw);
  manifest.frozen = {"in.weight"};

  const StateRange range = state_range(of_ones_own(), {"in"}, manifest);

  EXPECT_EQ(range.least, (StateBytes{128 + 32, 32, 64}));
  EXPECT_EQ(range.most, (StateBytes{128 + 32, 32, 64 + count_bytes}));
}

TEST(StateRange, OfExternalMixedPrecisionMayIncludeACopy) {
  Manifest manifest = of_another(plain);
  manifest.dtype = "mixed";

  const StateRange range = state_range(expected_model(small(false)), {"norm"}, manifest);

  EXPECT_EQ(range.least, (StateBytes{16, 16, 0}));
  EXPECT_EQ(range.most, (StateBytes{16 + 8, 16, count_bytes}));
}

TEST(StateRange, OfManyStagesIsTheSumIfAllAreKnown) {
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

}  // namespace
}  // namespace plumbline::testing
