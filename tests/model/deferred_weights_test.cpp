// SPDX-License-Identifier: BSD-3-Clause
// The split backward pass compared with the fused one, and with an independent split: two gradient calls on a kept
// graph.
#include "model/deferred_weights.hpp"

#include <ATen/Tensor.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "model/parameter.hpp"
#include "tests/model/models.hpp"

namespace plumbline {
namespace {

using testing::forward;
using Gradients = std::map<std::string, at::Tensor>;

bool is_linear(const std::string& name) {
  return name.find("proj") != std::string::npos || name == "lm_head.weight";
}

Gradients gradients_of(const LlamaSlice& slice) {
  Gradients gradients;
  for (const Parameter& parameter : slice.parameters()) gradients[parameter.name] = parameter.value.grad().clone();
  return gradients;
}

/// A range of units with an input that requires a gradient, as in a pipeline stage.
struct Case {
  LlamaConfig config;
  LlamaSlice slice;
  at::Tensor inputs[2];
  at::Tensor output_gradients[2];

  explicit Case(const Json& changes, at::ScalarType dtype = at::kFloat)
      : config(testing::small_config(changes)), slice(testing::make_slice(config, {2, config.layers + 3}, dtype)) {
    for (int i = 0; i < 2; ++i) {
      inputs[i] = at::randn({2, 5 + 4 * i, config.hidden_size}).to(dtype).set_requires_grad(true);
      output_gradients[i] = at::randn({2, 5 + 4 * i, config.vocab_size}).to(dtype);
    }
  }
};

const Json with_biases = {{"attention_bias", true}, {"mlp_bias", true}};

class SplitBackward : public ::testing::TestWithParam<std::tuple<Json, at::ScalarType>> {
 protected:
  Case make() const { return Case(std::get<0>(GetParam()), std::get<1>(GetParam())); }
};

TEST_P(SplitBackward, MatchesTheFusedBackward) {
  Case fused = make(), split = make();
  for (int i = 0; i < 2; ++i) {
    split.inputs[i] = fused.inputs[i].detach().clone().set_requires_grad(true);
    split.output_gradients[i] = fused.output_gradients[i];
    forward(fused.slice, fused.inputs[i]).backward(fused.output_gradients[i]);
  }

  DeferredWeights queues[2];
  for (int i = 0; i < 2; ++i) {
    const DeferWeightsScope scope(queues[i]);
    forward(split.slice, split.inputs[i]).backward(split.output_gradients[i]);
  }
  for (const auto& [name, gradient] : gradients_of(split.slice)) {
    if (is_linear(name)) {
      EXPECT_EQ(gradient.count_nonzero().item<std::int64_t>(), 0) << name << " belongs to W alone";
    }
  }
  for (DeferredWeights& queue : queues) queue.run();

  const Gradients expected = gradients_of(fused.slice), got = gradients_of(split.slice);
  for (const auto& [name, gradient] : expected) EXPECT_TRUE(at::equal(gradient, got.at(name))) << name;
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(at::equal(fused.inputs[i].grad(), split.inputs[i].grad()));
}

TEST_P(SplitBackward, AgreesWithASplitByGraph) {
  Case ours = make(), oracle = make();
  oracle.inputs[0] = ours.inputs[0].detach().clone().set_requires_grad(true);
  DeferredWeights queue;
  {
    const DeferWeightsScope scope(queue);
    forward(ours.slice, ours.inputs[0]).backward(ours.output_gradients[0]);
  }
  queue.run();

  std::vector<at::Tensor> input_side = {oracle.inputs[0]}, weights;
  std::vector<std::string> input_side_names = {"input"}, weight_names;
  for (const Parameter& parameter : oracle.slice.parameters()) {
    (is_linear(parameter.name) ? weights : input_side).push_back(parameter.value);
    (is_linear(parameter.name) ? weight_names : input_side_names).push_back(parameter.name);
  }
  const at::Tensor output = forward(oracle.slice, oracle.inputs[0]);
  const auto first = torch::autograd::grad({output}, input_side, {ours.output_gradients[0]}, /*retain_graph=*/true);
  const auto second = torch::autograd::grad({output}, weights, {ours.output_gradients[0]}, /*retain_graph=*/false);

  const Gradients got = gradients_of(ours.slice);
  EXPECT_TRUE(at::equal(first[0], ours.inputs[0].grad()));
  for (std::size_t i = 1; i < first.size(); ++i) {
    EXPECT_TRUE(at::equal(first[i], got.at(input_side_names[i]))) << input_side_names[i];
  }
  for (std::size_t i = 0; i < second.size(); ++i) {
    EXPECT_TRUE(at::equal(second[i], got.at(weight_names[i]))) << weight_names[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SplitBackward,
                         ::testing::Combine(::testing::Values(Json::object(), with_biases),
                                            ::testing::Values(at::kFloat, at::kBFloat16)),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param).empty() ? "plain" : "biases") +
                                  c10::toString(std::get<1>(tested.param));
                         });

TEST(DeferredWeights, UsesTheInnermostScope) {
  DeferredWeights outer, inner;
  const DeferWeightsScope one(outer);
  {
    const DeferWeightsScope other(inner);
    EXPECT_EQ(DeferWeightsScope::current(), &inner);
  }
  EXPECT_EQ(DeferWeightsScope::current(), &outer);
}

TEST(DeferredWeights, ComputesTheOldestFirstAndReleasesIt) {
  Case one(Json::object());
  DeferredWeights queue;
  {
    const DeferWeightsScope scope(queue);
    forward(one.slice, one.inputs[0]).backward(one.output_gradients[0]);
  }
  const std::size_t linears = queue.size();

  queue.run(1);

  EXPECT_EQ(linears, 7U * 2 + 1) << "two layers and the head";
  EXPECT_EQ(queue.size(), linears - 1);
  for (const auto& [name, gradient] : gradients_of(one.slice)) {
    if (!is_linear(name)) continue;
    EXPECT_EQ(gradient.count_nonzero().item<std::int64_t>() > 0, name == "lm_head.weight") << name;
  }
  queue.run();
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(DeferWeightsScope::current(), nullptr);
}

}  // namespace
}  // namespace plumbline
