// SPDX-License-Identifier: BSD-3-Clause
#include "training/graph_edges.hpp"

#include <ATen/Tensor.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <stdexcept>

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

}  // namespace
}  // namespace plumbline
