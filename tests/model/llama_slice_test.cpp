// SPDX-License-Identifier: BSD-3-Clause
#include "model/llama_slice.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rsqrt.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <stdexcept>

#include "model/initialize.hpp"
#include "model/parameter.hpp"
#include "tests/model/models.hpp"

namespace plumbline {
namespace {

using testing::forward;
using testing::make_ids;
using testing::make_slice;
using testing::mean_loss;
using testing::small_config;
using testing::value_of;
using testing::whole;

/// Forward and backward over consecutive slices as in pipeline stages: each takes a detached input and passes its
/// gradient to the previous slice.
at::Tensor run_chain(std::vector<LlamaSlice>& slices, const at::Tensor& ids, const at::Tensor& labels) {
  std::vector<at::Tensor> inputs, outputs;
  at::Tensor passed = ids;
  for (LlamaSlice& slice : slices) {
    at::Tensor input = passed.detach();
    if (input.is_floating_point()) {
      input.set_requires_grad(true);
    }
    inputs.push_back(input);
    outputs.push_back(forward(slice, input));
    passed = outputs.back();
  }
  const at::Tensor loss = mean_loss(passed, labels);
  loss.backward();
  for (std::size_t i = slices.size() - 1; i > 0; --i) {
    if (outputs[i - 1].requires_grad()) {
      outputs[i - 1].backward(inputs[i].grad());
    }
  }
  return loss.detach();
}

std::vector<LlamaSlice> cut(const LlamaConfig& config, const std::vector<std::int64_t>& cuts) {
  std::vector<LlamaSlice> slices;
  std::int64_t first = 0;
  for (const std::int64_t end : cuts) {
    slices.push_back(make_slice(config, {first, end}));
    first = end;
  }
  return slices;
}

TEST(LlamaSlice, PartitionsMatchTheWholeModel) {
  std::int64_t compared = 0;
  for (const bool tied : {false, true}) {
    const LlamaConfig config =
        small_config({{"attention_bias", true}, {"mlp_bias", true}, {"tie_word_embeddings", tied}});
    const at::Tensor ids = make_ids(config, 2, 33);
    const at::Tensor labels = make_ids(config, 2, 33).roll(-1, 1);
    std::vector<LlamaSlice> one = cut(config, {6});
    const at::Tensor loss = run_chain(one, ids, labels);

    for (const std::vector<std::int64_t>& cuts : std::vector<std::vector<std::int64_t>>{
             {2, 6}, {1, 2, 3, 4, 5, 6}, {1, 1, 4, 4, 6}, {4, 6}, {0, 3, 6, 6}, {5, 6}}) {
      std::vector<LlamaSlice> slices = cut(config, cuts);
      EXPECT_TRUE(at::equal(run_chain(slices, ids, labels), loss));
      for (const LlamaSlice& slice : slices) {
        for (const Parameter& parameter : slice.parameters()) {
          const at::Tensor expected = value_of(one[0], parameter.name);
          EXPECT_TRUE(at::equal(parameter.value, expected)) << parameter.name;
          EXPECT_TRUE(at::equal(parameter.value.grad(), expected.grad())) << parameter.name;
          EXPECT_GT(parameter.value.grad().abs().max().item<float>(), 0) << parameter.name;
          ++compared;
        }
      }
    }
  }
  EXPECT_EQ(compared, 2 * 6 * (3 + 3 * 16));
}

TEST(LlamaSlice, TiedHeadIsASeparateLeafWithSharedStorage) {
  const LlamaSlice slice = make_slice(small_config({{"tie_word_embeddings", true}}), {0, 6});
  const Parameter& embedding = slice.parameters().front();
  const Parameter& head = slice.parameters().back();

  EXPECT_TRUE(head.alias);
  EXPECT_FALSE(embedding.alias);
  EXPECT_EQ(head.value.const_data_ptr(), embedding.value.const_data_ptr());
  EXPECT_NE(head.value.grad().const_data_ptr(), embedding.value.grad().const_data_ptr());
  EXPECT_TRUE(head.value.is_leaf());
}

TEST(LlamaSlice, TiedHeadWithoutTheEmbeddingHasItsOwnStorage) {
  const LlamaSlice slice = make_slice(small_config({{"tie_word_embeddings", true}}), {4, 6});

  EXPECT_FALSE(slice.parameters().back().alias);
}

TEST(LlamaSlice, GradientsAreAllocatedOnRequestAndKept) {
  LlamaSlice slice(small_config(), {0, 6}, at::kFloat);
  for (const Parameter& parameter : slice.parameters()) {
    EXPECT_FALSE(parameter.value.grad().defined());
  }

  slice.allocate_gradients();
  const void* place = slice.parameters().front().value.grad().const_data_ptr();
  slice.allocate_gradients();

  EXPECT_EQ(slice.parameters().front().value.grad().const_data_ptr(), place);
  for (const Parameter& parameter : slice.parameters()) {
    EXPECT_EQ(parameter.value.grad().count_nonzero().item<std::int64_t>(), 0);
    EXPECT_FALSE(parameter.value.grad().requires_grad());
  }
}

/// So that kernels compute the same bits, and a slice's gradients are sent together.
TEST(LlamaSlice, GradientsShareABufferInWhichEachIsAlignedAsOnItsOwn) {
  LlamaSlice slice(small_config({{"hidden_size", 24}}), {0, 6}, at::kFloat);
  slice.allocate_gradients();
  const at::Tensor first = slice.parameters().front().value.grad();
  std::set<bool> kinds;
  for (const Parameter& parameter : slice.parameters()) {
    const at::Tensor gradient = parameter.value.grad();
    const bool whole = gradient.nbytes() % 64 == 0;
    kinds.insert(whole);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(gradient.const_data_ptr()) % 64, 0U) << parameter.name;
    EXPECT_EQ(gradient.is_alias_of(first), whole) << parameter.name;
    EXPECT_TRUE(gradient.is_contiguous());
  }
  EXPECT_EQ(kinds.size(), 2U) << "sizes of both kinds";
}

TEST(LlamaSlice, AnEmptySliceReturnsItsInput) {
  const LlamaSlice slice = make_slice(small_config(), {2, 2});
  const at::Tensor ids = make_ids(slice.config(), 1, 4);

  EXPECT_TRUE(forward(slice, ids).is_same(ids));
  EXPECT_TRUE(slice.parameters().empty());
}

TEST(LlamaSlice, AFutureTokenDoesNotAffectEarlierLogits) {
  const LlamaConfig config = small_config();
  const LlamaSlice slice = make_slice(config, whole(config));
  const at::Tensor ids = make_ids(config, 2, 48);
  at::Tensor changed = ids.clone();
  changed.select(1, 29).add_(1).remainder_(config.vocab_size);

  const at::Tensor before = forward(slice, ids);
  const at::Tensor after = forward(slice, changed);

  EXPECT_TRUE(at::equal(before.slice(1, 0, 29), after.slice(1, 0, 29)));
  for (std::int64_t position = 29; position < 48; ++position) {
    EXPECT_FALSE(at::equal(before.select(1, position), after.select(1, position))) << position;
  }
}

TEST(LlamaSlice, TheSecondTokenDoesNotAffectTheFirst) {
  const LlamaConfig config = small_config();
  const LlamaSlice slice = make_slice(config, whole(config));
  const at::Tensor ids = make_ids(config, 2, 2);
  at::Tensor changed = ids.clone();
  changed.select(1, 1).add_(1).remainder_(config.vocab_size);

  EXPECT_TRUE(at::equal(forward(slice, ids).select(1, 0), forward(slice, changed).select(1, 0)));
}

TEST(LlamaSlice, EachNormUsesTheConfigsEpsilon) {
  const LlamaConfig config = small_config({{"rms_norm_eps", 0.5}}), usual = small_config();
  const LlamaSlice slice = make_slice(config, whole(config)), other = make_slice(usual, whole(usual));
  const at::Tensor input = at::ones({1, 3, config.hidden_size});
  // The root mean square of ones is that of 1 + eps.
  const at::Tensor expected = value_of(slice, "model.norm.weight").mul(at::rsqrt(at::ones({1}).add(0.5)));
  EXPECT_TRUE(at::equal(slice.forward_unit(4, input), expected.expand_as(input)));
  EXPECT_FALSE(at::equal(slice.forward_unit(1, input), other.forward_unit(1, input)));
}

TEST(LlamaSlice, OnlyThePadTokensEmbeddingGetsNoGradient) {
  const at::Tensor ids = at::arange(8, at::kLong).view({1, 8});
  for (const int pad : {0, 5}) {
    const LlamaConfig config = small_config({{"pad_token_id", pad}});
    const LlamaSlice slice = make_slice(config, whole(config));

    mean_loss(forward(slice, ids), ids.roll(-1, 1)).backward();

    const at::Tensor rows = value_of(slice, "model.embed_tokens.weight").grad().abs().sum(-1);
    for (std::int64_t id = 0; id < 8; ++id) EXPECT_EQ(rows[id].item<float>() == 0, id == pad) << id;
  }
}

TEST(LlamaSlice, PaddingOnTheRightChangesNothing) {
  const LlamaConfig config = small_config();
  at::Tensor ids = make_ids(config, 2, 40);
  at::Tensor labels = ids.roll(-1, 1).clone();
  labels[1].slice(0, 25).fill_(-100);  // row 1 has 25 real tokens
  at::Tensor other = ids.clone();
  other[1].slice(0, 25).fill_(11);
  std::vector<LlamaSlice> padded = cut(config, {6}), otherwise = cut(config, {6});

  EXPECT_TRUE(at::equal(run_chain(padded, ids, labels), run_chain(otherwise, other, labels)));

  const at::Tensor logits = forward(padded[0], ids);
  EXPECT_TRUE(at::equal(logits[1].slice(0, 0, 25), forward(otherwise[0], other)[1].slice(0, 0, 25)));
  for (const Parameter& parameter : padded[0].parameters()) {
    EXPECT_TRUE(at::equal(parameter.value.grad(), value_of(otherwise[0], parameter.name).grad())) << parameter.name;
  }
  // The row alone: another shape uses other kernel blocks, so a few ulp of logits around 1 differ.
  const at::Tensor alone = forward(padded[0], ids.slice(0, 1).slice(1, 0, 25).contiguous());
  EXPECT_LE(alone[0].sub(logits[1].slice(0, 0, 25)).abs().max().item<float>(), 1e-5f);
}

TEST(LlamaSlice, InitialLossIsNearTheLogarithmOfTheVocabulary) {
  const LlamaConfig config = small_config({{"initializer_range", 0.02}});
  LlamaSlice slice(config, whole(config), at::kFloat);
  initialize(slice, 3);
  slice.prepare_tables(64);
  const at::Tensor ids = make_ids(config, 4, 64);

  const float loss = mean_loss(forward(slice, ids), ids.roll(-1, 1)).item<float>();

  // Logits are sums of `hidden` products of a unit-size activation with N(0, 0.02): variance 32 * 0.02^2 = 0.013. Half
  // of it is added to ln V; the standard error of their mean over 256 labels is 0.007.
  EXPECT_NEAR(loss, std::log(96.0f), 0.03f);
}

TEST(LlamaSlice, RowsOfTheLogitsGradientSumToZero) {
  const LlamaConfig config = small_config();
  const LlamaSlice slice = make_slice(config, whole(config), at::kDouble);
  const at::Tensor ids = make_ids(config, 2, 20);
  at::Tensor labels = ids.roll(-1, 1).clone();
  labels[0].slice(0, 10).fill_(-100);
  const at::Tensor logits = forward(slice, ids);
  logits.retain_grad();

  mean_loss(logits, labels).backward();

  const at::Tensor rows = logits.grad().abs().sum(-1);
  EXPECT_LE(logits.grad().sum(-1).abs().max().item<double>(), 1e-15);  // 96 terms below 1/30, each rounded at 2^-53
  EXPECT_EQ(rows[0].slice(0, 10).max().item<double>(), 0);
  EXPECT_GT(rows[1].min().item<double>(), 0);
}

TEST(LlamaSlice, RefusesInvalidCalls) {
  const LlamaConfig config = small_config();
  LlamaSlice slice(config, {0, 2}, at::kFloat);
  const at::Tensor ids = make_ids(config, 1, 8);

  EXPECT_THROW(forward(slice, ids), std::logic_error);  // no tables
  slice.prepare_tables(7);
  EXPECT_THROW(forward(slice, ids), std::logic_error);  // too short
  slice.prepare_tables(8);
  EXPECT_NO_THROW(forward(slice, ids));
  EXPECT_THROW(slice.forward_unit(2, ids), std::logic_error);
  EXPECT_THROW(LlamaSlice(config, {0, 7}, at::kFloat), std::logic_error);
  EXPECT_THROW(LlamaSlice(config, {3, 2}, at::kFloat), std::logic_error);
  EXPECT_THROW(LlamaSlice(config, {-1, 2}, at::kFloat), std::logic_error);
  EXPECT_THROW(LlamaSlice(config, {0, 2}, at::kLong), std::logic_error);
}

}  // namespace
}  // namespace plumbline
