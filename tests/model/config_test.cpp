// SPDX-License-Identifier: BSD-3-Clause
#include "model/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/error.hpp"
#include "tests/approved.hpp"
#include "tests/model/models.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;
using testing::small_config;
using testing::small_config_json;

Json llama3() {
  return Json::parse(R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                         "original_max_position_embeddings": 16})");
}

TEST(Config, ReadsEverySize) {
  const LlamaConfig config =
      small_config({{"attention_bias", true}, {"tie_word_embeddings", true}, {"pad_token_id", 5}});

  EXPECT_EQ(config.vocab_size, 96);
  EXPECT_EQ(config.hidden_size, 32);
  EXPECT_EQ(config.intermediate_size, 88);
  EXPECT_EQ(config.layers, 3);
  EXPECT_EQ(config.heads, 4);
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.head_dim, 8);
  EXPECT_EQ(config.max_position_embeddings, 64);
  EXPECT_EQ(config.rms_norm_eps, 1e-5);
  EXPECT_EQ(config.rope_theta, 10000.0);
  EXPECT_EQ(config.initializer_range, 0.1);
  EXPECT_EQ(config.pad_token_id, 5);
  EXPECT_TRUE(config.tied);
  EXPECT_TRUE(config.attention_bias);
  EXPECT_FALSE(config.mlp_bias);
  EXPECT_FALSE(config.rope_scaling);
  EXPECT_EQ(config.source["vocab_size"], 96);
}

TEST(Config, UsesTransformersDefaults) {
  const LlamaConfig config = small_config({{"num_key_value_heads", nullptr},
                                           {"max_position_embeddings", nullptr},
                                           {"rms_norm_eps", nullptr},
                                           {"initializer_range", nullptr},
                                           {"rope_parameters", nullptr},
                                           {"tie_word_embeddings", nullptr},
                                           {"hidden_act", nullptr}});

  EXPECT_EQ(config.kv_heads, 4);
  EXPECT_EQ(config.max_position_embeddings, 2048);
  EXPECT_EQ(config.rms_norm_eps, 1e-6);
  EXPECT_EQ(config.initializer_range, 0.02);
  EXPECT_EQ(config.rope_theta, 10000.0);
  EXPECT_FALSE(config.tied);
  EXPECT_FALSE(config.pad_token_id);
}

TEST(Config, ReadsBothSpellingsOfTheDtype) {
  EXPECT_EQ(small_config().saved_dtype, "");
  EXPECT_EQ(small_config({{"torch_dtype", "bfloat16"}}).saved_dtype, "bfloat16");
  EXPECT_EQ(small_config({{"dtype", "torch.float16"}}).saved_dtype, "float16");
  EXPECT_EQ(small_config({{"dtype", "bfloat16"}, {"torch_dtype", "bfloat16"}}).saved_dtype, "bfloat16");
}

TEST(Config, RefusesADtypeItCannotRead) {
  EXPECT_THAT(error_of<InputError>([] {
                small_config({{"dtype", "float8_e4m3fn"}});
              }),
              AllOf(HasSubstr("dtype"), HasSubstr("float8_e4m3fn"), HasSubstr("bfloat16")));
  EXPECT_THAT(error_of<InputError>([] { small_config({{"torch_dtype", 16}}); }), HasSubstr("torch_dtype = 16"));
  EXPECT_THAT(error_of<InputError>([] {
                small_config({{"dtype", "float32"}, {"torch_dtype", "bfloat16"}});
              }),
              AllOf(HasSubstr("torch_dtype"), HasSubstr("contradicts")));
}

TEST(Config, ReadsAnExplicitHeadSize) {
  const LlamaConfig config = small_config({{"head_dim", 16}, {"num_attention_heads", 6}, {"num_key_value_heads", 3}});

  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.attention_width(), 96);
  EXPECT_EQ(config.kv_width(), 48);
}

TEST(Config, ReadsBothSpellingsOfRopeAlike) {
  Json parameters = llama3();
  parameters["rope_theta"] = 500000.0;
  Json old_type = llama3();
  old_type.erase("rope_type");
  old_type["type"] = "llama3";

  const LlamaConfig fresh = small_config({{"rope_parameters", parameters}});
  const LlamaConfig old =
      small_config({{"rope_parameters", nullptr}, {"rope_theta", 500000}, {"rope_scaling", llama3()}});
  const LlamaConfig older =
      small_config({{"rope_parameters", nullptr}, {"rope_theta", 500000}, {"rope_scaling", old_type}});

  Json both = old_type;  // with a key that a library writes as null
  both["rope_type"] = "llama3";
  both["attention_factor"] = nullptr;
  const LlamaConfig twice = small_config({{"rope_parameters", parameters}, {"rope_scaling", both}});
  EXPECT_FALSE(
      small_config({{"rope_parameters", {{"rope_type", "default"}}}, {"rope_scaling", Json::object()}}).rope_scaling);

  for (const LlamaConfig& config : {fresh, old, older, twice}) {
    EXPECT_EQ(config.rope_theta, 500000.0);
    ASSERT_TRUE(config.rope_scaling);
    EXPECT_EQ(config.rope_scaling->factor, 8.0);
    EXPECT_EQ(config.rope_scaling->low_freq_factor, 1.0);
    EXPECT_EQ(config.rope_scaling->high_freq_factor, 4.0);
    EXPECT_EQ(config.rope_scaling->original_max_position_embeddings, 16.0);
  }
}

TEST(Config, Llama3ScalingFallsBackOnTheLongestPosition) {
  Json scaling = llama3();
  scaling.erase("original_max_position_embeddings");

  const LlamaConfig config = small_config({{"rope_parameters", nullptr}, {"rope_scaling", scaling}});

  EXPECT_EQ(config.rope_scaling->original_max_position_embeddings, 64.0);
}

TEST(Config, RefusesUnsupportedConfigs) {
  testing::expect_answers("model-configs.txt", [](const std::string& input) {
    const std::string said = error_of<InputError>([&] { small_config(Json::parse(input)); });
    return said.substr(std::min(said.find("config.json"), said.size()));
  });
}

TEST(Config, NamesAMissingFile) {
  EXPECT_THAT(error_of<InputError>([] { load_config("/nowhere/config.json"); }), HasSubstr("/nowhere/config.json"));
}

TEST(Config, NamesAFileThatIsNotAnObject) {
  const testing::TemporaryFolder folder;

  EXPECT_THAT(error_of<InputError>([&] { load_config(folder.file("config.json", "[1]")); }),
              AllOf(HasSubstr("config.json"), HasSubstr("object")));
}

TEST(Config, AcceptsNeutralValuesOfUnsupportedKeys) {
  EXPECT_NO_THROW(small_config(Json::parse(
      R"({"attention_dropout": 0.0, "pretraining_tp": 1, "sliding_window": null, "rope_interleaved": false, "use_cache": true})")));
}

TEST(Config, ListsIgnoredKeys) {
  const LlamaConfig config = small_config(Json::parse(
      R"({"bos_token_id": 1, "use_cache": true, "_name_or_path": "x", "temperature": 0.7, "transformers_version": "5"})"));

  EXPECT_THAT(config.ignored_keys, ::testing::UnorderedElementsAre("bos_token_id", "use_cache", "_name_or_path",
                                                                   "temperature", "transformers_version"));
}

TEST(Config, AcceptsLayerTypesOfALlama) {
  EXPECT_NO_THROW(small_config(Json::parse(
      R"({"layer_types": ["full_attention", "full_attention", "full_attention"], "scale_emb": 1, "bias": false})")));
}

/// The small config as one of another family; `changes` may contain null, which is kept.
std::string loaded_as(const std::string& family, const Json& changes) {
  Json json = small_config_json();
  json["model_type"] = family;
  json.erase("architectures");
  for (const auto& [key, value] : changes.items()) json[key] = value;
  const testing::TemporaryFolder folder;
  try {
    load_config(folder.file("config.json", json.dump()));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// Goldens of the same names show that their forward pass is then Llama's.
TEST(Config, AcceptsAFamilyWithNeutralKeys) {
  const Json window_off{{"sliding_window", nullptr}}, scale{{"attention_multiplier", 0.3535533905932738}};
  EXPECT_EQ(loaded_as("mistral", window_off), "");
  EXPECT_THAT(loaded_as("mistral", Json::object()), HasSubstr("sliding_window is missing"));
  EXPECT_THAT(loaded_as("mistral", {{"sliding_window", 4096}}), HasSubstr("sliding_window = 4096"));
  EXPECT_THAT(loaded_as("mistral", {{"sliding_window", nullptr}, {"attention_bias", true}}),
              HasSubstr("attention_bias = true"));
  EXPECT_EQ(loaded_as("granite", scale), "");
  EXPECT_THAT(loaded_as("granite", Json::object()), HasSubstr("attention_multiplier is missing"));
  EXPECT_THAT(loaded_as("granite", {{"attention_multiplier", 0.3535533905932738}, {"residual_multiplier", 0.22}}),
              HasSubstr("residual_multiplier = 0.22"));
  EXPECT_THAT(loaded_as("seed_oss", Json::object()), HasSubstr("attention_bias is missing"));
}

TEST(Config, AcceptsThetaInEitherPlace) {
  Json with = llama3(), old = llama3();
  with["rope_theta"] = 500000.0;
  old.erase("rope_type");
  old["type"] = "llama3";

  const LlamaConfig config = small_config({{"rope_parameters", with}, {"rope_scaling", old}});

  EXPECT_EQ(config.rope_theta, 500000.0);
  EXPECT_EQ(config.rope_scaling->factor, 8.0);
  old["rope_theta"] = 10000.0;
  EXPECT_THAT(error_of<InputError>([&] {
                small_config({{"rope_parameters", with}, {"rope_scaling", old}});
              }),
              HasSubstr("differs from another rope_theta"));
}

TEST(Config, AKeyThatIsNullIsNotThere) {
  for (const char* key : {"hidden_act",
                          "embd_pdrop",
                          "pretraining_tp",
                          "partial_rotary_factor",
                          "rotary_pct",
                          "num_local_experts",
                          "num_experts",
                          "use_sliding_window",
                          "rope_interleaved",
                          "use_qk_norm",
                          "qk_norm",
                          "qkv_bias",
                          "add_cross_attention",
                          "is_encoder_decoder",
                          "use_bidirectional_attention",
                          "quantization_config",
                          "sliding_window",
                          "attn_logit_softcapping",
                          "final_logit_softcapping",
                          "attention_chunk_size",
                          "layer_types",
                          "embedding_multiplier",
                          "residual_multiplier",
                          "logits_scaling",
                          "scale_emb",
                          "bias",
                          "attention_out_bias",
                          "auto_map"})
    EXPECT_NO_THROW(small_config({{key, nullptr}})) << key;
}

TEST(Config, ChecksAllDropoutsAndArchitectures) {
  EXPECT_THAT(error_of<InputError>([] {
                small_config({{"attention_dropout", 0.0}, {"resid_pdrop", 0.2}});
              }),
              HasSubstr("resid_pdrop = 0.2"));
  EXPECT_THAT(error_of<InputError>([] {
                small_config({{"architectures", {"LlamaForCausalLM", "LlamaForTokenClassification"}}});
              }),
              HasSubstr("LlamaForTokenClassification"));
}

TEST(Config, AcceptsEqualDuplicates) {
  Json twice = llama3();
  twice["rope_theta"] = 500000.0;
  twice["type"] = "llama3";

  const LlamaConfig config =
      small_config({{"rope_parameters", twice}, {"rope_scaling", twice}, {"rope_theta", 500000.0}});

  EXPECT_EQ(config.rope_theta, 500000.0);
  EXPECT_EQ(config.rope_scaling->factor, 8.0);
}

TEST(Config, AcceptsSizesUpToTheLimit) {
  EXPECT_EQ(small_config({{"vocab_size", 2147483647}}).vocab_size, 2147483647);
  EXPECT_EQ(small_config({{"num_hidden_layers", 100000}}).layers, 100000);
  EXPECT_THAT(error_of<InputError>([] { small_config({{"vocab_size", 2147483648}}); }), HasSubstr("2147483647"));
  EXPECT_THAT(error_of<InputError>([] { small_config({{"num_hidden_layers", 100001}}); }), HasSubstr("at most 100000"));
}

TEST(Config, AcceptsAScalingFactorOfOne) {
  Json scaling = llama3();
  scaling["factor"] = 1.0;

  EXPECT_EQ(small_config({{"rope_parameters", scaling}}).rope_scaling->factor, 1.0);
}

}  // namespace
}  // namespace plumbline
