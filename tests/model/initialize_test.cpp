// SPDX-License-Identifier: BSD-3-Clause
#include "model/initialize.hpp"

#include <ATen/Version.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "model/llama_slice.hpp"
#include "model/parameter.hpp"
#include "model/unit.hpp"
#include "support/hash.hpp"
#include "tests/model/models.hpp"
#include "tests/paths.hpp"

namespace plumbline {
namespace {

using testing::small_config;
using testing::value_of;

LlamaSlice initialized(const LlamaConfig& config, UnitRange units, std::uint64_t seed,
                       at::ScalarType dtype = at::kFloat) {
  LlamaSlice slice(config, units, dtype);
  initialize(slice, seed);
  return slice;
}

TEST(Initialize, GivesTheSameBitsInEveryPartition) {
  const LlamaConfig config = small_config({{"tie_word_embeddings", true}, {"mlp_bias", true}});
  const LlamaSlice one = initialized(config, {0, 6}, 5);

  for (std::int64_t unit = 0; unit < 6; ++unit) {
    const LlamaSlice part = initialized(config, {unit, unit + 1}, 5);
    for (const Parameter& parameter : part.parameters()) {
      EXPECT_TRUE(at::equal(parameter.value, value_of(one, parameter.name))) << parameter.name;
    }
  }
}

TEST(Initialize, DrawsEachMatrixFromItsOwnStream) {
  const LlamaSlice slice = initialized(small_config(), {0, 6}, 5);
  const auto& parameters = slice.parameters();

  for (std::size_t i = 0; i < parameters.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (parameters[i].value.dim() == 2 && parameters[j].value.dim() == 2) {
        EXPECT_FALSE(
            at::equal(parameters[i].value.view(-1).slice(0, 0, 64), parameters[j].value.view(-1).slice(0, 0, 64)))
            << parameters[i].name << " starts as " << parameters[j].name;
      }
    }
  }
}

// The first test vector of docs/exactness.md, "Initial values".
TEST(Initialize, MatchesTheDocumentedVectors) {
  const LlamaConfig config = load_config(testing::fixtures_path() + "/models/stories260k/config.json");
  const LlamaSlice slice = initialized(config, {1, 2}, 1);

  const at::Tensor drawn = value_of(slice, "model.layers.0.self_attn.q_proj.weight");
  const auto* values = drawn.const_data_ptr<float>();
  const float first[] = {-0.0068893763F, 0.033616759F, 0.0080815386F, 0.034269296F};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(values[i], first[i], 1e-7F);
  if (const std::string path = at::get_cpu_capability(); path != "AVX2" && path != "AVX512") {
    GTEST_SKIP() << "logarithm, sine and cosine have other last bits with " << path;
  }
  const std::string bytes(reinterpret_cast<const char*>(values), drawn.nbytes());
  EXPECT_EQ(hash_hex("float32|64x64|" + bytes), "850c4cadeb452c2b8488c90fd5bc9ff9");
}

TEST(Initialize, DependsOnTheSeed) {
  const LlamaConfig config = small_config();

  EXPECT_FALSE(at::equal(value_of(initialized(config, {0, 1}, 5), "model.embed_tokens.weight"),
                         value_of(initialized(config, {0, 1}, 6), "model.embed_tokens.weight")));
}

TEST(Initialize, HasTheConfigsSpread) {
  const LlamaSlice slice =
      initialized(small_config({{"mlp_bias", true}, {"initializer_range", 0.03}, {"vocab_size", 4096}}), {0, 6}, 5);

  // 131072 draws: the mean's standard error is 0.03 / 362 = 8e-5, the deviation's 0.03 / 512 = 6e-5; five times that.
  const at::Tensor embedding = value_of(slice, "model.embed_tokens.weight").detach();
  EXPECT_NEAR(embedding.mean().item<float>(), 0.0f, 4e-4f);
  EXPECT_NEAR(embedding.std().item<float>(), 0.03f, 3e-4f);
  EXPECT_EQ(value_of(slice, "model.layers.1.mlp.up_proj.bias").count_nonzero().item<std::int64_t>(), 0);
  EXPECT_TRUE(value_of(slice, "model.layers.1.input_layernorm.weight").eq(1).all().item<bool>());
  EXPECT_TRUE(value_of(slice, "model.norm.weight").eq(1).all().item<bool>());
}

TEST(Initialize, StartsEveryPrecisionFromTheSameNumbers) {
  const LlamaConfig config = small_config();
  const LlamaSlice single = initialized(config, {0, 6}, 5);

  for (const auto dtype : {at::kDouble, at::kBFloat16}) {
    const LlamaSlice other = initialized(config, {0, 6}, 5, dtype);
    for (const Parameter& parameter : other.parameters()) {
      EXPECT_TRUE(at::equal(parameter.value, value_of(single, parameter.name).to(dtype))) << parameter.name;
    }
  }
}

}  // namespace
}  // namespace plumbline
