// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <filesystem>

#include "harness/judge/expected/model.hpp"
#include "support/error.hpp"
#include "support/safetensors.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using judging::expected_model;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The oracle is transformers: names and shapes of the tensors that it wrote for each golden configuration.
TEST(ExpectedModel, NamesAndShapesMatchEveryGolden) {
  int goldens = 0, tensors = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(fixtures_path()) / "hf_golden")) {
    if (!std::filesystem::exists(entry.path() / "model.safetensors")) continue;
    const auto model = expected_model(read_json(entry.path() / "config.json"));
    const SafetensorsFile file(entry.path() / "model.safetensors");
    ++goldens;
    for (const auto& parameter : model.parameters) {
      if (model.tied && parameter.name == "lm_head.weight" && !file.entries().contains(parameter.name)) continue;
      ASSERT_TRUE(file.entries().contains(parameter.name)) << entry.path() << " " << parameter.name;
      EXPECT_EQ(file.at(parameter.name).shape, parameter.shape) << entry.path() << " " << parameter.name;
      ++tensors;
    }
    EXPECT_LE(file.entries().size(), model.parameters.size())
        << entry.path() << ": the model does not expect this tensor";
  }
  EXPECT_GE(goldens, 3);
  EXPECT_GE(tensors, 3 * 21);
}

Json small() {
  return {{"vocab_size", 8},
          {"hidden_size", 4},
          {"intermediate_size", 6},
          {"num_hidden_layers", 1},
          {"num_attention_heads", 2}};
}

TEST(ExpectedModel, UnitsRunFromEmbeddingToHead) {
  const auto model = expected_model(small());

  EXPECT_THAT(model.units, ElementsAre("embed_tokens", "layers.0", "norm", "lm_head"));
  EXPECT_EQ(model.unit_position("norm"), 2);
  EXPECT_FALSE(model.unit_position("layers.1"));
}

TEST(ExpectedModel, DefaultsMatchTransformers) {
  const auto model = expected_model(small());

  EXPECT_EQ(model.kv_heads, 2);
  EXPECT_EQ(model.head_dim, 2);
  EXPECT_FALSE(model.tied);
}

TEST(ExpectedModel, CanonicalOrderPutsBiasesAfterTheirWeights) {
  Json config = small();
  config["attention_bias"] = true;
  config["mlp_bias"] = true;

  const auto model = expected_model(config);

  EXPECT_EQ(model.parameter_position("model.layers.0.self_attn.q_proj.bias"), 2);
  EXPECT_EQ(model.parameter_position("model.layers.0.mlp.down_proj.bias"), 14);
  EXPECT_EQ(model.parameter_position("model.layers.0.input_layernorm.weight"), 15);
  EXPECT_EQ(model.parameter_position("lm_head.weight"), 18);
}

TEST(ExpectedModel, NamesMissingAndWrongKeys) {
  Json config = small();
  config.erase("hidden_size");
  EXPECT_THAT(error_of<InputError>([&] { expected_model(config); }), HasSubstr("hidden_size"));

  config = small();
  config["num_hidden_layers"] = -1;
  EXPECT_THAT(error_of<InputError>([&] { expected_model(config); }), HasSubstr("-1"));

  config = small();
  config["tie_word_embeddings"] = "yes";
  EXPECT_THAT(error_of<InputError>([&] { expected_model(config); }), HasSubstr("tie_word_embeddings"));
}

TEST(ExpectedModel, RefusesSizesBeyond32Bits) {
  Json config = small();
  config["vocab_size"] = 2147483647;
  EXPECT_EQ(expected_model(config).vocabulary, 2147483647);
  config["vocab_size"] = 2147483648;
  EXPECT_THAT(error_of<InputError>([&] { expected_model(config); }), HasSubstr("`vocab_size` is 2147483648, not a"));
  config["vocab_size"] = 8.0;
  EXPECT_THAT(error_of<InputError>([&] { expected_model(config); }), HasSubstr("`vocab_size` is 8.0, not an integer"));
  EXPECT_THAT(error_of<InputError>([&] { expected_model(Json::array()); }), HasSubstr("must be an object"));
}

TEST(ExpectedModel, NullCountsAsAbsent) {
  Json config = small();
  for (const char* key : {"num_key_value_heads", "tie_word_embeddings", "pad_token_id"}) config[key] = nullptr;
  const auto model = expected_model(config);

  EXPECT_EQ(model.kv_heads, 2);
  EXPECT_FALSE(model.tied);
  EXPECT_FALSE(model.pad_token);
  config["pad_token_id"] = 0;
  EXPECT_TRUE(expected_model(config).pad_token);
}

}  // namespace
}  // namespace plumbline::testing
