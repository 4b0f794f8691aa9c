// SPDX-License-Identifier: BSD-3-Clause
#include "model/linear.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <ostream>
#include <tuple>
#include <vector>

namespace plumbline {
namespace {

at::Tensor drawn(at::IntArrayRef shape, std::uint64_t seed, at::ScalarType dtype = at::kFloat) {
  return at::empty(shape, at::kFloat).normal_(0.0, 1.0, at::detail::createCPUGenerator(seed)).to(dtype);
}

at::Tensor leaf(at::IntArrayRef shape, std::uint64_t seed, at::ScalarType dtype = at::kFloat) {
  at::Tensor tensor = drawn(shape, seed, dtype);
  tensor.set_requires_grad(true);
  return tensor;
}

struct Shape {
  std::int64_t batch, sequence, in, out;
  bool bias;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.batch << "x" << shape.sequence << "x" << shape.in << " to " << shape.out
       << (shape.bias ? " with bias" : "");
}

/// The same numbers, `elements` after the start of an allocation.
at::Tensor moved(const at::Tensor& tensor, std::int64_t elements) {
  at::Tensor place = at::empty({tensor.numel() + elements}, tensor.options()).narrow(0, elements, tensor.numel());
  return place.view(tensor.sizes()).copy_(tensor);
}

class LinearAgainstTorch : public ::testing::TestWithParam<std::tuple<Shape, at::ScalarType>> {};

TEST_P(LinearAgainstTorch, HasTheSameBits) {
  const auto [shape, dtype] = GetParam();
  const auto [batch, sequence, in, out, bias] = shape;
  const at::Tensor grad_output = drawn({batch, sequence, out}, 4, dtype);
  at::Tensor inputs[2], outputs[2];
  LinearWeights weights[2];
  for (int own = 0; own < 2; ++own) {
    inputs[own] = leaf({batch, sequence, in}, 1, dtype);
    weights[own] = {leaf({out, in}, 2, dtype), bias ? leaf({out}, 3, dtype) : at::Tensor()};
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

// Parity needs it: a pipeline's tensors have other addresses than the reference's. Important for bfloat16, since oneDNN
// compiles a kernel for each shape and processor; its bits do not depend on addresses. MKL's float32 bits are
// independent only if tensors begin at a multiple of 64 bytes (small products differ elsewhere), which LibTorch's
// allocator guarantees.
TEST_P(LinearAgainstTorch, BitsDoNotDependOnAddresses) {
  const auto [shape, dtype] = GetParam();
  const at::Tensor input = drawn({shape.batch, shape.sequence, shape.in}, 1, dtype);
  const LinearWeights weights{drawn({shape.out, shape.in}, 2, dtype), {}};
  const at::Tensor grad_output = drawn({shape.batch * shape.sequence, shape.out}, 4, dtype);
  const at::Tensor output = linear(input, weights);
  const at::Tensor input_gradient = linear_input_gradient(grad_output, weights.weight, input.sizes());
  const at::Tensor weight_gradient = linear_weight_gradient(grad_output, input);

  const bool aligned = dtype == at::kFloat;
  for (const std::int64_t elements :
       aligned ? std::vector<std::int64_t>{0, 0, 16, 48} : std::vector<std::int64_t>{0, 0, 1, 3, 8}) {
    const at::Tensor elsewhere = moved(input, elements), gradient_elsewhere = moved(grad_output, elements);
    EXPECT_TRUE(at::equal(linear(elsewhere, weights), output)) << elements;
    EXPECT_TRUE(at::equal(linear_input_gradient(gradient_elsewhere, weights.weight, input.sizes()), input_gradient));
    EXPECT_TRUE(at::equal(linear_weight_gradient(gradient_elsewhere, elsewhere), weight_gradient));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearAgainstTorch,
                         ::testing::Combine(::testing::Values(Shape{2, 33, 64, 172, false}, Shape{2, 33, 64, 172, true},
                                                              Shape{1, 1, 32, 88, false}, Shape{1, 1, 32, 88, true},
                                                              Shape{3, 17, 172, 64, true},
                                                              Shape{1, 200, 256, 96, false}, Shape{2, 5, 8, 4, false}),
                                            ::testing::Values(at::kFloat, at::kBFloat16)));

TEST(Linear, AccumulatesGradientsInPlace) {
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

TEST(Linear, SkipsGradientsThatAreNotRequired) {
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

TEST(Linear, RefusesASecondBackward) {
  const at::Tensor output = linear(leaf({2, 5, 8}, 1), {leaf({4, 8}, 2), {}});
  output.backward(drawn({2, 5, 4}, 4));

  EXPECT_ANY_THROW(output.backward(drawn({2, 5, 4}, 4)));
}

TEST(Linear, RefusesAChangedWeight) {
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
