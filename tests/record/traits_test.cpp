// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "record/manifest.hpp"

namespace plumbline {
namespace {

const Json sizes = {{"vocab_size", 8},
                    {"hidden_size", 4},
                    {"intermediate_size", 8},
                    {"num_hidden_layers", 1},
                    {"num_attention_heads", 2}};

TEST(RecordTraits, AnotherTrainersModelIsALlamaByItsFirstUnitAndItsTypeOrKeys) {
  const auto says = [](const Json& model, const std::string& first = "embed_tokens") {
    Manifest manifest;
    manifest.json = {{"model", model}};
    manifest.stages = {{0, 0, {first, "layers.0"}}};
    return is_llama(manifest);
  };
  EXPECT_TRUE(says({{"model_type", "llama"}}));
  EXPECT_FALSE(says({{"model_type", "llama"}}, "inputs"));
  EXPECT_TRUE(says({{"model_type", "mistral"}, {"sliding_window", nullptr}}));
  EXPECT_FALSE(says({{"model_type", "mistral"}})) << "transformers gives it a window";
  EXPECT_FALSE(says({{"model_type", "mistral"}, {"sliding_window", 4096}}));
  EXPECT_TRUE(says({{"model_type", "granite"}})) << "its multipliers are 1 by default";
  EXPECT_TRUE(says({{"model_type", "granite"}, {"embedding_multiplier", 1}}));
  EXPECT_FALSE(says({{"model_type", "granite"}, {"embedding_multiplier", 12}}));
  EXPECT_FALSE(says({{"model_type", "seed_oss"}, {"residual_dropout", 0}})) << "it has biases by default";
  EXPECT_TRUE(says({{"model_type", "seed_oss"}, {"residual_dropout", 0}, {"attention_bias", false}}));
  Json config = sizes;
  EXPECT_TRUE(says(config));
  config["model_type"] = nullptr;
  EXPECT_TRUE(says(config));
  config["model_type"] = "gpt2";
  EXPECT_FALSE(says(config));
  for (const auto& [key, value] : sizes.items()) {
    Json lacking = sizes;
    lacking.erase(key);
    EXPECT_FALSE(says(lacking)) << key;
  }
}

TEST(RecordTraits, OfOurOwnTrainersNothingIsLackingAndEachModelIsALlama) {
  Manifest manifest;
  for (const char* role : {"external", "reference", "pipeline"}) {
    manifest.set_role(role);
    const bool own = std::string(role) != "external";
    const RecordTraits& traits = manifest.traits;
    EXPECT_EQ(traits.may_lack, !own) << role;
    for (const bool trait : {traits.own, traits.own_formulas, traits.own_bytes, traits.own_actions, traits.llama})
      EXPECT_EQ(trait, own) << role;
  }
}

}  // namespace
}  // namespace plumbline
