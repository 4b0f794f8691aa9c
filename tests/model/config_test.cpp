// SPDX-License-Identifier: BSD-3-Clause
#include "model/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "support/error.hpp"
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

struct Refused {
  const char* changes;            ///< merged into the small config
  std::vector<const char*> says;  ///< the message contains all of it
};

void PrintTo(const Refused& refused, std::ostream* out) {
  *out << refused.changes;
}

class ConfigRefuses : public ::testing::TestWithParam<Refused> {};

TEST_P(ConfigRefuses, ByNameWithItsValue) {
  const std::string message = error_of<InputError>([] { small_config(Json::parse(GetParam().changes)); });

  EXPECT_THAT(message, HasSubstr("config.json"));
  for (const char* part : GetParam().says) {
    EXPECT_THAT(message, HasSubstr(part));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Unsupported, ConfigRefuses,
    ::testing::Values(
        Refused{R"({"model_type": "qwen2"})",
                {"model_type = \"qwen2\"", "llama", "queries, keys and values have biases"}},
        Refused{R"({"model_type": "my_own"})", {"model_type = \"my_own\"", "\"mistral\""}},
        Refused{R"({"num_key_value_head": 2})", {"num_key_value_head = 2", "did you mean num_key_value_heads?"}},
        Refused{R"({"rope_thetta": 5e5})", {"rope_thetta = 500000.0", "did you mean rope_theta?"}},
        Refused{R"({"residual_multiplyer": 1})", {"did you mean residual_multiplier?"}},
        Refused{R"({"my_own_scale": 3})", {"my_own_scale = 3", "is not known"}},
        Refused{R"({"layer_types": ["full_attention", "sliding_attention", "full_attention"]})",
                {"layer_types", "full_attention"}},
        Refused{R"({"attention_multiplier": 0.5})", {"attention_multiplier = 0.5", "0.3535"}},
        Refused{R"({"scale_depth": 1.4})", {"scale_depth = 1.4"}},
        Refused{R"({"dim_model_base": 256})", {"dim_model_base = 256", "32"}},
        Refused{R"({"model_type": null})", {"model_type is missing"}},
        Refused{R"({"architectures": ["LlamaForSequenceClassification"]})",
                {"architectures", "LlamaForSequenceClassification"}},
        Refused{R"({"hidden_act": "gelu"})", {"hidden_act = \"gelu\"", "silu"}},
        Refused{R"({"attention_dropout": 0.1})", {"attention_dropout = 0.1", "not supported"}},
        Refused{R"({"hidden_dropout": 0.5})", {"hidden_dropout = 0.5"}},
        Refused{R"({"resid_pdrop": 0.1})", {"resid_pdrop = 0.1"}},
        Refused{R"({"attention_dropout": "no"})", {"attention_dropout = \"no\"", "number"}},
        Refused{R"({"pretraining_tp": 2})", {"pretraining_tp = 2"}},
        Refused{R"({"partial_rotary_factor": 0.5})", {"partial_rotary_factor = 0.5"}},
        Refused{R"({"rope_parameters": {"rope_typ": "default"}})", {"rope_typ = ", "did you mean rope_type?"}},
        Refused{R"({"rope_parameters": {"factor": 8.0}})",
                {"rope_parameters.factor = 8.0: is not a key of", "default"}},
        Refused{R"({"rope_parameters": {"partial_rotary_factor": 0.5}})",
                {"rope_parameters.partial_rotary_factor = 0.5"}},
        Refused{R"({"quantization_config": {"bits": 4}})", {"quantization_config", "bits"}},
        Refused{R"({"sliding_window": 128})", {"sliding_window = 128"}},
        Refused{R"({"rope_interleaved": true})", {"rope_interleaved = true"}},
        Refused{R"({"num_local_experts": 8})", {"num_local_experts = 8"}},
        Refused{R"({"rope_parameters": {"rope_type": "yarn", "factor": 2.0}})", {"rope_type = \"yarn\"", "llama3"}},
        Refused{R"({"rope_parameters": null, "rope_scaling": {"type": "linear", "factor": 2.0}})",
                {"rope_scaling.type = \"linear\""}},
        Refused{R"({"rope_parameters": null, "rope_scaling": {"type": "dynamic", "factor": 2.0}})",
                {"rope_scaling.type = \"dynamic\""}},
        Refused{R"({"rope_parameters": {"rope_type": "longrope"}})", {"rope_type = \"longrope\""}}));

INSTANTIATE_TEST_SUITE_P(
    Inconsistent, ConfigRefuses,
    ::testing::Values(
        Refused{R"({"num_attention_heads": 6})", {"num_attention_heads = 6", "hidden_size = 32"}},
        Refused{R"({"num_attention_heads": 64})", {"num_attention_heads = 64", "hidden_size = 32"}},
        Refused{R"({"num_key_value_heads": 3})", {"num_key_value_heads = 3", "num_attention_heads = 4"}},
        Refused{R"({"head_dim": 7})", {"head_dim = 7", "even"}},
        Refused{R"({"num_attention_heads": 32, "num_key_value_heads": 32})",
                {"num_attention_heads = 32", "odd head_dim of 1"}},
        Refused{R"({"pad_token_id": 96})", {"pad_token_id = 96", "vocab_size = 96"}},
        Refused{R"({"pad_token_id": -1})", {"pad_token_id = -1", "null"}},
        Refused{R"({"rope_theta": 5})", {"rope_theta = 5", "differs"}},
        Refused{R"({"rope_scaling": {"rope_type": "llama3"}})", {"rope_scaling", "differs from rope_parameters"}},
        Refused{R"({"rope_parameters": {"rope_type": "default", "type": "llama3"}})", {"type = \"llama3\"", "differs"}},
        Refused{
            R"({"rope_parameters": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4}})",
            {"high_freq_factor = 4", "low_freq_factor"}},
        Refused{
            R"({"rope_parameters": {"rope_type": "llama3", "factor": 0.5, "low_freq_factor": 1, "high_freq_factor": 4}})",
            {"factor = 0.5"}}));

INSTANTIATE_TEST_SUITE_P(
    Malformed, ConfigRefuses,
    ::testing::Values(Refused{R"({"vocab_size": null})", {"vocab_size is missing"}},
                      Refused{R"({"num_hidden_layers": null})", {"num_hidden_layers is missing"}},
                      Refused{R"({"hidden_size": 0})", {"hidden_size = 0"}},
                      Refused{R"({"hidden_size": -32})", {"hidden_size = -32"}},
                      Refused{R"({"hidden_size": 32.5})", {"hidden_size = 32.5", "integer"}},
                      Refused{R"({"hidden_size": "32"})", {"hidden_size = \"32\"", "integer"}},
                      Refused{R"({"vocab_size": 18446744073709551615})", {"vocab_size = 18446744073709551615"}},
                      Refused{R"({"vocab_size": 4294967296})", {"vocab_size = 4294967296", "2147483647"}},
                      Refused{R"({"rms_norm_eps": 0})", {"rms_norm_eps = 0"}},
                      Refused{R"({"rms_norm_eps": -1e-5})", {"rms_norm_eps"}},
                      Refused{R"({"rms_norm_eps": "1e-5"})", {"rms_norm_eps", "number"}},
                      Refused{R"({"tie_word_embeddings": 1})", {"tie_word_embeddings = 1", "true or false"}},
                      Refused{R"({"rope_parameters": []})", {"rope_parameters = []", "object"}},
                      Refused{R"({"rope_parameters": {"rope_theta": -1.0}})", {"rope_parameters.rope_theta = -1.0"}},
                      Refused{R"({"rope_parameters": {"rope_type": 3}})", {"rope_type = 3", "string"}},
                      Refused{R"({"rope_parameters": {"rope_type": "llama3"}})",
                              {"rope_parameters.factor is missing"}}));

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

/// A key that changes the model, with a value that does so.
class ForeignKey : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(ForeignKey, IsRefused) {
  const auto& [key, value] = GetParam();

  EXPECT_THAT(error_of<InputError>([&] {
                small_config({{key, Json::parse(value)}});
              }),
              HasSubstr(std::string(key) + " = " + value));
}

TEST_P(ForeignKey, IsIgnoredIfNull) {
  EXPECT_NO_THROW(small_config({{GetParam().first, nullptr}}));
}

INSTANTIATE_TEST_SUITE_P(, ForeignKey,
                         ::testing::ValuesIn(std::vector<std::pair<const char*, const char*>>{
                             {"hidden_act", "\"gelu\""},
                             {"embd_pdrop", "0.1"},
                             {"pretraining_tp", "2"},
                             {"partial_rotary_factor", "0.5"},
                             {"rotary_pct", "0.25"},
                             {"num_local_experts", "8"},
                             {"num_experts", "8"},
                             {"use_sliding_window", "true"},
                             {"rope_interleaved", "true"},
                             {"use_qk_norm", "true"},
                             {"qk_norm", "true"},
                             {"qkv_bias", "true"},
                             {"add_cross_attention", "true"},
                             {"is_encoder_decoder", "true"},
                             {"use_bidirectional_attention", "true"},
                             {"quantization_config", "{}"},
                             {"sliding_window", "128"},
                             {"attn_logit_softcapping", "30.0"},
                             {"final_logit_softcapping", "30.0"},
                             {"attention_chunk_size", "8192"},
                             {"layer_types", "[\"full_attention\"]"},
                             {"embedding_multiplier", "12"},
                             {"residual_multiplier", "0.22"},
                             {"logits_scaling", "8"},
                             {"scale_emb", "12"},
                             {"bias", "true"},
                             {"attention_out_bias", "true"},
                             {"auto_map", "{}"}}),
                         [](const auto& tested) { return std::string(tested.param.first); });

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
