// SPDX-License-Identifier: BSD-3-Clause
// Microbatch gradients widened and added in float32, compared with adding them in bfloat16.
#include "model/gradient_sums.hpp"

#include <ATen/Tensor.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "model/deferred_weights.hpp"
#include "model/initialize.hpp"
#include "model/parameter.hpp"
#include "tests/model/models.hpp"

namespace plumbline {
namespace {

/// The gradients of each of three microbatches, in a slice whose gradients are bfloat16.
std::vector<std::map<std::string, at::Tensor>> gradients_apart(LlamaSlice& slice,
                                                               const std::vector<at::Tensor>& microbatches) {
  std::vector<std::map<std::string, at::Tensor>> apart;
  for (const at::Tensor& ids : microbatches) {
    for (Parameter& parameter : slice.parameters()) parameter.value.mutable_grad().zero_();
    testing::mean_loss(testing::forward(slice, ids), ids).backward();
    auto& gradients = apart.emplace_back();
    for (const Parameter& parameter : slice.parameters()) gradients[parameter.name] = parameter.value.grad().clone();
  }
  return apart;
}

LlamaSlice with_masters(const LlamaConfig& config) {
  LlamaSlice slice(config, testing::whole(config), at::kBFloat16);
  slice.keep_masters();
  slice.allocate_gradients();
  slice.prepare_tables(64);
  initialize(slice, 7);
  return slice;
}

TEST(GradientSums, AddWidenedGradientsInOrder) {
  for (const bool split : {false, true}) {
    const LlamaConfig config = testing::small_config({{"attention_bias", true}});
    std::vector<at::Tensor> microbatches;
    for (const std::int64_t length : {5, 9, 3}) microbatches.push_back(testing::make_ids(config, 2, length));
    LlamaSlice narrow(config, testing::whole(config), at::kBFloat16);
    narrow.allocate_gradients();
    narrow.prepare_tables(64);
    initialize(narrow, 7);
    const auto apart = gradients_apart(narrow, microbatches);

    const LlamaSlice mixed = with_masters(config);
    for (const at::Tensor& ids : microbatches) {
      DeferredWeights deferred;
      const at::Tensor loss = testing::mean_loss(testing::forward(mixed, ids), ids);
      if (split) {
        const DeferWeightsScope scope(deferred);
        loss.backward();
      } else {
        loss.backward();
      }
      deferred.run();
    }

    bool bfloat16_would_differ = false;
    for (const Parameter& parameter : mixed.parameters()) {
      at::Tensor sum = at::zeros(parameter.value.sizes()), rounded = sum.to(at::kBFloat16);
      for (const auto& gradients : apart) {
        sum.add_(gradients.at(parameter.name).to(at::kFloat));
        rounded.add_(gradients.at(parameter.name));
      }
      EXPECT_TRUE(at::equal(parameter.gradient_sum, sum)) << parameter.name;
      EXPECT_FALSE(parameter.value.grad().defined()) << parameter.name << ": only the sum remains";
      bfloat16_would_differ = bfloat16_would_differ || !at::equal(rounded.to(at::kFloat), sum);
    }
    EXPECT_TRUE(bfloat16_would_differ) << "otherwise this test shows nothing";
  }
}

TEST(Masters, AreTheFloat32DrawAndCopiesAreRoundedOnce) {
  for (const bool tied : {false, true}) {
    const LlamaConfig config = testing::small_config({{"tie_word_embeddings", tied}});
    LlamaSlice wide(config, testing::whole(config), at::kFloat);
    initialize(wide, 7);

    const LlamaSlice mixed = with_masters(config);

    for (std::size_t i = 0; i < mixed.parameters().size(); ++i) {
      const Parameter& parameter = mixed.parameters()[i];
      EXPECT_EQ(parameter.master.scalar_type(), at::kFloat);
      EXPECT_TRUE(at::equal(parameter.master, wide.parameters()[i].value.detach())) << parameter.name;
      EXPECT_TRUE(at::equal(parameter.value.detach(), parameter.master.to(at::kBFloat16))) << parameter.name;
      EXPECT_FALSE(parameter.master.requires_grad());
    }
    if (tied) {
      EXPECT_TRUE(mixed.parameters().back().master.is_same(mixed.parameters().front().master));
    }
  }
}

}  // namespace
}  // namespace plumbline
