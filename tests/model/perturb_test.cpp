// SPDX-License-Identifier: BSD-3-Clause
#include "model/perturb.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "model/copy_values.hpp"
#include "model/initialize.hpp"
#include "model/llama_slice.hpp"
#include "model/parameter.hpp"
#include "model/unit.hpp"
#include "tests/model/models.hpp"

namespace plumbline {
namespace {

using testing::small_config;
using testing::value_of;

LlamaSlice perturbed(const LlamaConfig& config, UnitRange units, std::uint64_t seed,
                     at::ScalarType dtype = at::kFloat) {
  LlamaSlice slice(config, units, dtype);
  initialize(slice, 5);
  perturb(slice, seed);
  return slice;
}

LlamaSlice plain(const LlamaConfig& config, at::ScalarType dtype = at::kFloat) {
  LlamaSlice slice(config, {0, 6}, dtype);
  initialize(slice, 5);
  return slice;
}

TEST(Perturb, MovesByOneUlpOrNoneAboutAThirdEachWay) {
  const LlamaConfig config = small_config();
  const LlamaSlice before = plain(config), after = perturbed(config, {0, 6}, 1);

  for (const Parameter& parameter : after.parameters()) {
    const at::Tensor one = value_of(before, parameter.name).detach(), other = parameter.value.detach();
    std::int64_t up = 0, down = 0;
    for (std::int64_t i = 0; i < one.numel(); ++i) {
      const float x = one.const_data_ptr<float>()[i], y = other.const_data_ptr<float>()[i];
      const bool grown = y == std::nextafter(x, x > 0 ? INFINITY : -INFINITY), shrunk = y == std::nextafter(x, 0.0F);
      ASSERT_TRUE(x == y || grown || shrunk) << parameter.name << " " << x << " " << y;
      up += grown;
      down += shrunk;
    }
    // The standard error of a third of n draws is sqrt(2 n) / 3; five times that, even for the smallest parameter's 32.
    const auto n = static_cast<double>(one.numel());
    EXPECT_NEAR(static_cast<double>(up), n / 3, 5 * std::sqrt(2 * n) / 3) << parameter.name;
    EXPECT_NEAR(static_cast<double>(down), n / 3, 5 * std::sqrt(2 * n) / 3) << parameter.name;
  }
}

TEST(Perturb, DependsOnlyOnSeedAndName) {
  const LlamaConfig config = small_config({{"tie_word_embeddings", true}});
  const LlamaSlice one = perturbed(config, {0, 6}, 1);

  for (std::int64_t unit = 0; unit < 6; ++unit) {
    const LlamaSlice part = perturbed(config, {unit, unit + 1}, 1);
    for (const Parameter& parameter : part.parameters()) {
      EXPECT_TRUE(at::equal(parameter.value, value_of(one, parameter.name))) << parameter.name;
    }
  }
  EXPECT_FALSE(
      at::equal(value_of(perturbed(config, {0, 6}, 2), "model.norm.weight"), value_of(one, "model.norm.weight")));
  EXPECT_TRUE(at::equal(value_of(one, "lm_head.weight"), value_of(one, "model.embed_tokens.weight")));
}

TEST(Perturb, KeepsZeros) {
  const LlamaSlice slice = perturbed(small_config({{"mlp_bias", true}}), {0, 6}, 1);

  EXPECT_EQ(value_of(slice, "model.layers.0.mlp.up_proj.bias").count_nonzero().item<std::int64_t>(), 0);
}

TEST(Perturb, MovesByTheDtypesOwnLastPlace) {
  const LlamaConfig config = small_config();
  const at::Tensor norm = value_of(perturbed(config, {0, 6}, 1, at::kBFloat16), "model.norm.weight").detach();

  bool up = false, down = false;
  for (std::int64_t i = 0; i < norm.numel(); ++i) {
    const auto value = static_cast<float>(norm.const_data_ptr<at::BFloat16>()[i]);  // 1 before
    ASSERT_TRUE(value == 1.0F || value == 1.0F + 0x1p-7F || value == 1.0F - 0x1p-8F) << value;
    up = up || value > 1;
    down = down || value < 1;
  }
  EXPECT_TRUE(up && down);
}

TEST(Perturb, InMixedPrecisionMovesTheMastersAndRoundsTheirCopies) {
  const LlamaConfig config = small_config();
  const LlamaSlice wide = perturbed(config, {0, 6}, 1);
  LlamaSlice mixed(config, {0, 6}, at::kBFloat16);
  mixed.keep_masters();
  initialize(mixed, 5);

  perturb(mixed, 1);

  for (std::size_t i = 0; i < mixed.parameters().size(); ++i) {
    const Parameter& parameter = mixed.parameters()[i];
    EXPECT_TRUE(at::equal(parameter.master, wide.parameters()[i].value.detach())) << parameter.name;
    EXPECT_TRUE(at::equal(parameter.value.detach(), parameter.master.to(at::kBFloat16))) << parameter.name;
  }
}

TEST(CopyValues, WidensExactly) {
  const LlamaConfig config = small_config({{"tie_word_embeddings", true}});
  const LlamaSlice narrow = perturbed(config, {0, 6}, 3, at::kBFloat16);
  LlamaSlice wide(config, {0, 6}, at::kDouble);

  copy_values(wide, narrow);

  for (const Parameter& parameter : wide.parameters()) {
    EXPECT_TRUE(at::equal(parameter.value, value_of(narrow, parameter.name).to(at::kDouble))) << parameter.name;
  }
}

TEST(CopyValues, RoundsCopiedMasters) {
  const LlamaConfig config = small_config();
  LlamaSlice from(config, {0, 6}, at::kFloat), mixed(config, {0, 6}, at::kBFloat16);
  initialize(from, 5);
  mixed.keep_masters();

  copy_values(mixed, from);

  for (const Parameter& parameter : mixed.parameters()) {
    EXPECT_TRUE(at::equal(parameter.value, value_of(from, parameter.name).to(at::kBFloat16))) << parameter.name;
  }
}

TEST(PrepareTables, UsesTheNarrowerModelsTables) {
  const LlamaConfig config = small_config();
  LlamaSlice narrow(config, {0, 6}, at::kFloat), wide(config, {0, 6}, at::kDouble), other(config, {0, 6}, at::kDouble);
  initialize(narrow, 5), initialize(wide, 5), initialize(other, 5);
  narrow.prepare_tables(8), wide.prepare_tables(8, at::kFloat), other.prepare_tables(8);
  const at::NoGradGuard no_grad;
  const at::Tensor hidden = wide.forward_unit(0, testing::make_ids(config, 1, 8));

  const at::Tensor with_own = wide.forward_unit(1, hidden), with_exact = other.forward_unit(1, hidden);

  EXPECT_FALSE(at::equal(with_own, with_exact)) << "float32 tables must show in float64";
  EXPECT_LT(with_own.sub(with_exact).abs().max().item<double>(), 1e-6);  // rows of 8 angles, float32's 6e-8 each
}

}  // namespace
}  // namespace plumbline
