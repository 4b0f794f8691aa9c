#include "model/linear.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

namespace plumbline {
namespace {

at::Tensor drawn(at::IntArrayRef shape, std::uint64_t seed) {
  return at::empty(shape, at::kFloat).normal_(0.0, 1.0, at::detail::createCPUGenerator(seed));
}

at::Tensor leaf(at::IntArrayRef shape, std::uint64_t seed) {
  at::Tensor tensor = drawn(shape, seed);
  tensor.set_requires_grad(true);
  return tensor;
}

struct Shape {
  std::int64_t batch, sequence, in, out;
  bool bias;
};

class LinearAgainstTorch : public ::testing::TestWithParam<Shape> {};

TEST_P(LinearAgainstTorch, HasTheSameBits) {
  const auto [batch, sequence, in, out, bias] = GetParam();
  const at::Tensor grad_output = drawn({batch, sequence, out}, 4);
  at::Tensor inputs[2], outputs[2];
  LinearWeights weights[2];
  for (int own = 0; own < 2; ++own) {
    inputs[own] = leaf({batch, sequence, in}, 1);
    weights[own] = {leaf({out, in}, 2), bias ? leaf({out}, 3) : at::Tensor()};
    outputs[own] =
        own == 1 ? linear(inputs[own], weights[own]) : at::linear(inputs[own], weights[own].weight, weights[own].bias);
    outputs[own].backward(grad_output);
  }

  EXPECT_TRUE(at::equal(outputs[1], outputs[0]));
  EXPECT_TRUE(at::equal(inputs[1].grad(), inputs[0].grad()));
  EXPECT_TRUE(at::equal(weights[1].weight.grad(), weights[0].weight.grad()));
  if (bias) {
    EXPECT_TRUE(at::equal(weights[1].bias.grad(), weights[0].bias.grad()));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearAgainstTorch,
                         ::testing::Values(Shape{2, 33, 64, 172, false}, Shape{2, 33, 64, 172, true},
                                           Shape{1, 1, 32, 88, false}, Shape{1, 1, 32, 88, true},
                                           Shape{3, 17, 172, 64, true}, Shape{1, 200, 256, 96, false}));

TEST(Linear, AddsIntoAGradientInPlace) {
  const at::Tensor input = drawn({2, 5, 8}, 1);
  const LinearWeights weights{leaf({4, 8}, 2), leaf({4}, 3)};
  weights.weight.mutable_grad() = at::zeros_like(weights.weight.detach());
  const void* place = weights.weight.grad().const_data_ptr();

  for (int pass = 0; pass < 2; ++pass) {
    linear(input, weights).backward(drawn({2, 5, 4}, 4));
  }

  EXPECT_EQ(weights.weight.grad().const_data_ptr(), place);
  const at::Tensor once = linear_weight_gradient(drawn({2, 5, 4}, 4).view({10, 4}), input);
  EXPECT_TRUE(at::equal(weights.weight.grad(), once.add(once)));
}

TEST(Linear, LeavesOutGradientsThatNobodyAsksFor) {
  const at::Tensor input = drawn({2, 5, 8}, 1);
  const LinearWeights weights{leaf({4, 8}, 2), drawn({4}, 3)};

  linear(input, weights).backward(drawn({2, 5, 4}, 4));

  EXPECT_FALSE(input.grad().defined());
  EXPECT_FALSE(weights.bias.grad().defined());
  EXPECT_TRUE(weights.weight.grad().defined());
}

TEST(Linear, MakesNoGraphWithoutGradients) {
  const LinearWeights weights{leaf({4, 8}, 2), {}};

  const at::NoGradGuard no_grad;

  EXPECT_FALSE(linear(drawn({2, 5, 8}, 1), weights).requires_grad());
}

TEST(Linear, RefusesASecondBackwardThroughFreedTensors) {
  const at::Tensor output = linear(leaf({2, 5, 8}, 1), {leaf({4, 8}, 2), {}});
  output.backward(drawn({2, 5, 4}, 4));

  EXPECT_ANY_THROW(output.backward(drawn({2, 5, 4}, 4)));
}

TEST(Linear, RefusesAWeightThatChangedBetweenForwardAndBackward) {
  const LinearWeights weights{leaf({4, 8}, 2), {}};
  const at::Tensor output = linear(leaf({2, 5, 8}, 1), weights);
  {
    const at::NoGradGuard no_grad;
    weights.weight.add_(1);
  }

  EXPECT_ANY_THROW(output.backward(drawn({2, 5, 4}, 4)));
}

}  // namespace
}  // namespace plumbline
