// SPDX-License-Identifier: BSD-3-Clause
#include "model/parameter_shapes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "model/config.hpp"
#include "model/parameter.hpp"
#include "model/unit.hpp"
#include "tests/model/models.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using testing::small_config;

TEST(UnitNames, RunFromEmbeddingToHead) {
  EXPECT_THAT(unit_names(small_config({{"num_hidden_layers", 2}})),
              ElementsAre("embed_tokens", "layers.0", "layers.1", "norm", "lm_head"));
}

TEST(ParameterShapes, FollowTransformersOrder) {
  const LlamaConfig config = small_config({{"num_hidden_layers", 1},
                                           {"attention_bias", true},
                                           {"mlp_bias", true},
                                           {"head_dim", 16},
                                           {"tie_word_embeddings", true}});

  std::vector<std::string> listed;
  for (const ParameterShape& shape : parameter_shapes(config)) {
    std::string text = shape.name + " @" + shape.unit;
    for (const std::int64_t size : shape.shape) {
      text += " " + std::to_string(size);
    }
    listed.push_back(text);
  }

  EXPECT_THAT(listed, ElementsAre("model.embed_tokens.weight @embed_tokens 96 32",                //
                                  "model.layers.0.self_attn.q_proj.weight @layers.0 64 32",       //
                                  "model.layers.0.self_attn.q_proj.bias @layers.0 64",            //
                                  "model.layers.0.self_attn.k_proj.weight @layers.0 32 32",       //
                                  "model.layers.0.self_attn.k_proj.bias @layers.0 32",            //
                                  "model.layers.0.self_attn.v_proj.weight @layers.0 32 32",       //
                                  "model.layers.0.self_attn.v_proj.bias @layers.0 32",            //
                                  "model.layers.0.self_attn.o_proj.weight @layers.0 32 64",       //
                                  "model.layers.0.self_attn.o_proj.bias @layers.0 32",            //
                                  "model.layers.0.mlp.gate_proj.weight @layers.0 88 32",          //
                                  "model.layers.0.mlp.gate_proj.bias @layers.0 88",               //
                                  "model.layers.0.mlp.up_proj.weight @layers.0 88 32",            //
                                  "model.layers.0.mlp.up_proj.bias @layers.0 88",                 //
                                  "model.layers.0.mlp.down_proj.weight @layers.0 32 88",          //
                                  "model.layers.0.mlp.down_proj.bias @layers.0 32",               //
                                  "model.layers.0.input_layernorm.weight @layers.0 32",           //
                                  "model.layers.0.post_attention_layernorm.weight @layers.0 32",  //
                                  "model.norm.weight @norm 32",                                   //
                                  "lm_head.weight @lm_head 96 32"));
}

TEST(ParameterShapes, SlicesCoverThemOnceInOrder) {
  const LlamaConfig config = small_config();
  std::vector<std::string> expected;
  for (const ParameterShape& shape : parameter_shapes(config)) {
    expected.push_back(shape.name);
  }

  std::vector<std::string> collected;
  for (const UnitRange range : {UnitRange{0, 1}, UnitRange{1, 3}, UnitRange{3, 3}, UnitRange{3, 6}}) {
    const LlamaSlice slice(config, range, at::kFloat);
    for (const Parameter& parameter : slice.parameters()) {
      collected.push_back(parameter.name);
    }
  }

  EXPECT_EQ(collected, expected);
}

}  // namespace
}  // namespace plumbline
