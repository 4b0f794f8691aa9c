// SPDX-License-Identifier: BSD-3-Clause
#include "training/graph_edges.hpp"

#include <ATen/Tensor.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "model/deferred_weights.hpp"
#include "model/initialize.hpp"
#include "model/parameter.hpp"
#include "model/saved_bytes.hpp"
#include "model/unit.hpp"
#include "tests/paths.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {
namespace {

TEST(GraphEdges, ReturnTheGradientOfTheInput) {
  at::Tensor input = at::arange(3, at::kFloat);
  const auto slot = begin_graph(input);
  GraphEnd end(input * 2 + input * input);

  end.backward(at::ones({3}));

  EXPECT_TRUE(slot->gradient.equal(at::arange(3, at::kFloat) * 2 + 2));
}

TEST(GraphEdges, KeepTheInputFromBeingALeaf) {
  at::Tensor input = at::ones({2});

  const auto slot = begin_graph(input);

  EXPECT_TRUE(input.requires_grad());
  EXPECT_FALSE(input.is_leaf());
  EXPECT_THROW(begin_graph(input), std::logic_error);
}

// A reference to the incoming gradient during the backward pass would cost one boundary tensor more than on one device.
TEST(GraphEdges, ReleaseTheIncomingGradient) {
  install_memory_meter();
  MemoryMeter& meter = this_thread_meter();
  at::Tensor input = at::ones({1 << 16});
  const auto slot = begin_graph(input);
  bool seen = false;
  std::int64_t live_inside = 0;
  const MemoryScope scope(MemoryOwner::activations);
  GraphEnd end([&] {
    at::Tensor middle = input.neg();
    middle.register_hook([&](const at::Tensor& /*gradient*/) {
      seen = true;
      live_inside = meter.count(MemoryOwner::activations).live;
    });
    return middle.neg();
  }());
  const std::int64_t before = meter.count(MemoryOwner::activations).live;

  end.backward(at::ones({1 << 16}));

  ASSERT_TRUE(seen);
  EXPECT_EQ(live_inside - before, 4 * (1 << 16)) << "only the gradient of the middle is alive there";
}

TEST(GraphEdges, KeepNoStorageOfTheOutput) {
  install_memory_meter();
  MemoryMeter& meter = this_thread_meter();
  at::Tensor input = at::ones({1024});
  const auto slot = begin_graph(input);
  const MemoryScope scope(MemoryOwner::activations);
  const std::int64_t before = meter.count(MemoryOwner::activations).live;

  GraphEnd end(input.neg());

  EXPECT_EQ(meter.count(MemoryOwner::activations).live, before);
}

TEST(GraphEdges, RunBackwardOnceOnly) {
  at::Tensor input = at::ones({1});
  const auto slot = begin_graph(input);
  GraphEnd end(input.neg());
  end.backward(at::ones({1}));

  EXPECT_THROW(end.backward(at::ones({1})), std::logic_error);
  EXPECT_THROW(GraphEnd(at::ones({1})), std::logic_error);
}

constexpr std::int64_t rows = 2, tokens = 9;

LlamaConfig config_with(bool biases) {
  LlamaConfig config = load_config(testing::fixtures_path() + "/models/stories260k/config.json");
  config.attention_bias = config.mlp_bias = biases;
  return config;
}

/// Two layers in the middle of the model, as in a stage.
LlamaSlice two_layers(const LlamaConfig& config, at::ScalarType dtype) {
  LlamaSlice slice(config, {2, 4}, dtype);
  slice.allocate_gradients();
  slice.prepare_tables(tokens);
  initialize(slice, 5);
  return slice;
}

/// How the two layers run.
enum class Again : std::uint8_t { none, layers, halves };

struct Passed {
  at::Tensor output, input_gradient;
  std::vector<at::Tensor> gradients;
};

/// Forward and backward of two microbatches; `split`: weight gradients are deferred.
Passed pass(Again again, bool split, bool biases, at::ScalarType dtype, const std::vector<at::Tensor>& inputs,
            const at::Tensor& output_gradient) {
  const LlamaSlice slice = two_layers(config_with(biases), dtype);
  Passed passed;
  for (const at::Tensor& each : inputs) {
    at::Tensor input = each.clone();
    const auto slot = begin_graph(input);
    at::Tensor x = std::move(input);
    for (const std::int64_t unit : {2, 3}) {
      const std::int64_t layer = unit_at(slice.config(), unit).layer;
      if (again == Again::none) {
        x = slice.forward_unit(unit, x);
      } else if (again == Again::layers) {
        x = forward_to_recompute(slice, {UnitKind::layer, layer}, x);
      } else {
        x = forward_to_recompute(slice, {UnitKind::attention, layer}, x);
        x = forward_to_recompute(slice, {UnitKind::mlp, layer}, x);
      }
    }
    passed.output = x.detach();
    GraphEnd end(x);
    x.reset();
    DeferredWeights deferred;
    if (split) {
      const DeferWeightsScope scope(deferred);
      end.backward(output_gradient.clone());
    } else {
      end.backward(output_gradient.clone());
    }
    deferred.run();
    passed.input_gradient = slot->gradient;
  }
  for (const Parameter& parameter : slice.parameters()) passed.gradients.push_back(parameter.value.grad().clone());
  return passed;
}

class RecomputedLayers : public ::testing::TestWithParam<std::tuple<bool, bool, at::ScalarType>> {};

TEST_P(RecomputedLayers, MatchLayersWithoutRecomputation) {
  const auto& [split, biases, dtype] = GetParam();
  const std::int64_t hidden = config_with(false).hidden_size;
  const std::vector<at::Tensor> inputs{at::randn({rows, tokens, hidden}).to(dtype),
                                       at::randn({rows, tokens, hidden}).to(dtype)};
  const at::Tensor gradient = at::randn({rows, tokens, hidden}).to(dtype);

  const Passed kept = pass(Again::none, false, biases, dtype, inputs, gradient);
  for (const Again what : {Again::layers, Again::halves}) {
    const Passed again = pass(what, split, biases, dtype, inputs, gradient);

    EXPECT_TRUE(at::equal(kept.output, again.output));
    EXPECT_TRUE(at::equal(kept.input_gradient, again.input_gradient));
    ASSERT_EQ(kept.gradients.size(), biases ? 32U : 18U);
    for (std::size_t i = 0; i < kept.gradients.size(); ++i) {
      EXPECT_TRUE(at::equal(kept.gradients[i], again.gradients[i])) << i;
      EXPECT_GT(again.gradients[i].count_nonzero().item<std::int64_t>(), 0) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecomputedLayers,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool(),
                                            ::testing::Values(at::kFloat, at::kDouble, at::kBFloat16)));

TEST(RecomputedLayer, SavesOnlyItsInput) {
  install_memory_meter();
  const LlamaConfig config = config_with(false);
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const LlamaSlice slice = two_layers(config, dtype);
    const MemoryScope scope(MemoryOwner::activations);
    MemoryMeter& meter = this_thread_meter();
    const std::int64_t before = meter.count(MemoryOwner::activations).live;
    at::Tensor input = at::randn({rows, tokens, config.hidden_size}).to(dtype);
    const auto slot = begin_graph(input);

    at::Tensor output = forward_to_recompute(slice, {UnitKind::layer, 1}, std::exchange(input, {}));

    EXPECT_EQ(meter.count(MemoryOwner::activations).live - before - storage_bytes(output),
              saved_bytes(config, {UnitKind::layer, 1}, rows * tokens, dtype, Recompute::layer));
    GraphEnd(output).backward(output.detach().clone());
    output.reset();
    EXPECT_EQ(meter.count(MemoryOwner::activations).live - before, storage_bytes(slot->gradient))
        << "everything is freed";
  }
}

TEST(RecomputedLayer, IsAPlainPassWithoutAutograd) {
  const LlamaConfig config = config_with(false);
  const LlamaSlice slice = two_layers(config, at::kFloat);
  const at::Tensor input = at::randn({rows, tokens, config.hidden_size});
  const at::NoGradGuard no_grad;

  const at::Tensor output = forward_to_recompute(slice, {UnitKind::layer, 1}, input);

  EXPECT_FALSE(output.requires_grad());
  EXPECT_TRUE(at::equal(output, slice.forward_unit(2, input)));
}

TEST(RecomputedLayer, RefusesAChangedInput) {
  const LlamaConfig config = config_with(false);
  const LlamaSlice slice = two_layers(config, at::kFloat);
  at::Tensor input = at::randn({rows, tokens, config.hidden_size});
  const auto slot = begin_graph(input);
  const at::Tensor output = forward_to_recompute(slice, {UnitKind::layer, 1}, input);
  {
    const at::NoGradGuard no_grad;
    input.add_(1);
  }

  EXPECT_ANY_THROW(GraphEnd(output).backward(output.detach().clone()));
}

}  // namespace
}  // namespace plumbline
