// SPDX-License-Identifier: BSD-3-Clause
#include "training/loss.hpp"

#include <ATen/Tensor.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "training/graph_edges.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {
namespace {

at::Tensor labels_of(const std::vector<std::vector<std::int64_t>>& rows) {
  at::Tensor labels =
      at::empty({static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows.front().size())}, at::kLong);
  auto* next = labels.mutable_data_ptr<std::int64_t>();
  for (const auto& row : rows) next = std::copy(row.begin(), row.end(), next);
  return labels;
}

/// [2, 3, 4], all different.
at::Tensor lively_logits() {
  at::Tensor logits = at::empty({2, 3, 4}, at::kDouble);
  for (std::int64_t i = 0; i < logits.numel(); ++i) {
    logits.mutable_data_ptr<double>()[i] = std::sin(static_cast<double>(7 * i + 1));
  }
  return logits.requires_grad_();
}

double negative_log_probability(const at::Tensor& logits, std::int64_t row, std::int64_t position, std::int64_t label) {
  const auto* numbers = logits.const_data_ptr<double>() + (row * 3 + position) * 4;
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += std::exp(numbers[i]);
  return std::log(sum) - numbers[label];
}

TEST(TokenWeightedLoss, SumsValidTokensAndDividesByTheStepsCount) {
  const at::Tensor logits = lively_logits();
  const at::Tensor labels = labels_of({{1, 3, -100}, {-100, 0, 2}});

  const at::Tensor loss = token_weighted_loss(logits.clone(), labels, 10);

  const double expected = (negative_log_probability(logits, 0, 0, 1) + negative_log_probability(logits, 0, 1, 3) +
                           negative_log_probability(logits, 1, 1, 0) + negative_log_probability(logits, 1, 2, 2)) /
                          10;
  EXPECT_NEAR(loss.item<double>(), expected, 1e-15);  // four fp64 terms of order 1
}

TEST(TokenWeightedLoss, GradientsMatchTheScaledSum) {
  const at::Tensor logits = lively_logits();

  token_weighted_loss(logits.clone(), labels_of({{1, 3, -100}, {-100, 0, 2}}), 10).backward();

  const at::Tensor gradient = logits.grad();
  EXPECT_EQ(gradient[0][2].count_nonzero().item<std::int64_t>(), 0);
  EXPECT_EQ(gradient[1][0].count_nonzero().item<std::int64_t>(), 0);
  const double probability = std::exp(-negative_log_probability(logits, 0, 0, 1));
  EXPECT_NEAR(gradient[0][0][1].item<double>(), (probability - 1) / 10, 1e-15);
  EXPECT_NEAR(gradient.sum().item<double>(), 0, 1e-15);  // each row of softmax minus one-hot sums to 0
}

TEST(TokenWeightedLoss, IsZeroWithoutAValidToken) {
  const at::Tensor logits = lively_logits();

  const at::Tensor loss = token_weighted_loss(logits.clone(), at::full({2, 3}, -100, at::kLong), 10);
  loss.backward();

  EXPECT_EQ(loss.item<double>(), 0.0);
  EXPECT_TRUE(logits.grad().defined());
  EXPECT_EQ(logits.grad().count_nonzero().item<std::int64_t>(), 0) << "NaN counts as non-zero";
}

TEST(TokenWeightedLoss, IsNotAMeanOfMeans) {
  const at::Tensor logits = lively_logits().detach();
  const at::Tensor one = labels_of({{1, -100, -100}, {-100, -100, -100}});
  const at::Tensor six = labels_of({{0, 1, 2}, {3, 0, 1}});

  const auto loss = [&](const at::Tensor& labels, std::int64_t valid) {
    return token_weighted_loss(logits, labels, valid).item<double>();
  };
  const double weighted = loss(one, 7) + loss(six, 7);
  const double means = (loss(one, 1) + loss(six, 6)) / 2;

  EXPECT_GT(std::abs(weighted - means), 1e-2);
}

TEST(TokenWeightedLoss, KeepsTheDtypeOfTheLogits) {
  const at::Tensor logits = at::zeros({1, 2, 4}, at::kFloat);

  const at::Tensor loss = token_weighted_loss(logits, labels_of({{1, 2}}), 2);

  EXPECT_EQ(loss.scalar_type(), at::kFloat);
  EXPECT_EQ(loss.dim(), 0);
  EXPECT_FLOAT_EQ(loss.item<float>(), std::log(4.0F));
}

TEST(TokenWeightedLoss, ComputesBfloat16InFloat32) {
  at::Tensor narrow = lively_logits().detach().to(at::kBFloat16).requires_grad_();
  at::Tensor wide = narrow.detach().to(at::kFloat).requires_grad_();
  const at::Tensor labels = labels_of({{1, 3, -100}, {-100, 0, 2}});

  const at::Tensor loss = token_weighted_loss(narrow.clone(), labels, 10);
  loss.backward();
  const at::Tensor expected = token_weighted_loss(wide.clone(), labels, 10);
  expected.backward();

  EXPECT_EQ(loss.scalar_type(), loss_dtype(at::kBFloat16));
  EXPECT_EQ(loss.item<float>(), expected.item<float>());
  EXPECT_TRUE(narrow.grad().equal(wide.grad().to(at::kBFloat16)));
}

// Several chunks, the last of another size; a row's bits must not depend on other rows, nor the sum on the chunks.
TEST(TokenWeightedLoss, MatchesLibTorchsCrossEntropy) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const at::Tensor numbers = at::arange(5 * 7 * 100003, at::kDouble).mul(0.37).sin_().mul_(9).to(dtype);
    at::Tensor ours = numbers.view({5, 7, 100003}).clone().requires_grad_(),
               theirs = ours.detach().clone().requires_grad_();
    at::Tensor labels = at::arange(5 * 7, at::kLong).mul_(2711).view({5, 7});
    labels[1][3] = labels[4][6] = -100;

    const at::Tensor loss = token_weighted_loss(ours.clone(), labels, 40);
    loss.backward();
    const at::Tensor flat = theirs.to(loss_dtype(dtype)).view({-1, 100003});
    const at::Tensor expected =
        at::cross_entropy_loss(flat, labels.view({-1}), {}, at::Reduction::Sum, -100).div(at::Scalar(40));
    expected.backward();

    EXPECT_TRUE(at::equal(loss, expected)) << dtype;
    EXPECT_TRUE(at::equal(ours.grad(), theirs.grad())) << dtype;
  }
}

// The gradient replaces the logits; cross_entropy adds 4 bytes per logit, then 8 (bfloat16: 8, then 10).
TEST(TokenWeightedLoss, NeedsOnlyOneChunkInAdditionToTheLogits) {
  const std::int64_t rows = 96, vocabulary = 1 << 17, chunks = 4 * 8 << 20;
  for (const auto& [dtype, bytes] : {std::pair(at::kFloat, 4), std::pair(at::kBFloat16, 2)}) {
    MemoryMeter& meter = new_memory_meter();
    meter.attach();
    at::Tensor leaf = at::zeros({1}, dtype).requires_grad_();
    const at::Tensor labels = at::zeros({1, rows}, at::kLong);
    at::Tensor logits = at::ones({1, rows, vocabulary}, dtype).add_(leaf);
    const at::Tensor loss = token_weighted_loss(std::exchange(logits, at::Tensor()), labels, rows);
    EXPECT_LT(meter.total().peak, bytes * rows * vocabulary + chunks) << dtype;
    GraphEnd(loss).backward();
    EXPECT_LT(meter.total().peak, bytes * rows * vocabulary + chunks) << dtype;
  }
}

TEST(TokenWeightedLoss, GradientIsScaledByTheIncomingOne) {
  const at::Tensor labels = labels_of({{1, 3, -100}, {-100, 0, 2}});
  const at::Tensor logits = lively_logits(), twice = lively_logits();
  token_weighted_loss(logits.clone(), labels, 10).backward();
  token_weighted_loss(twice.clone(), labels, 10).mul(2).backward();

  EXPECT_TRUE(twice.grad().equal(logits.grad().mul(2)));
}

TEST(TokenWeightedLoss, RefusesAStepWithoutAValidToken) {
  EXPECT_THROW(token_weighted_loss(lively_logits(), at::full({2, 3}, -100, at::kLong), 0), std::logic_error);
}

using ::testing::ElementsAre;

TEST(StepLosses, AreReadByMicrobatch) {
  StepLosses losses;

  losses.begin(3);
  losses.set(2, at::scalar_tensor(0.25));
  losses.set(0, at::scalar_tensor(4.5));

  EXPECT_THAT(losses.read(), ElementsAre(4.5F, 0.0F, 0.25F));
}

TEST(StepLosses, AreClearedByANewStep) {
  StepLosses losses;
  losses.begin(2);
  losses.set(1, at::scalar_tensor(1.0));
  losses.read();

  losses.begin(2);
  losses.set(0, at::scalar_tensor(2.0));

  EXPECT_THAT(losses.read(), ElementsAre(2.0F, 0.0F));
}

TEST(StepLosses, AreAddedInFloat32FromLeftToRight) {
  // Above 2^24 float32 has no odd numbers: each 1 is lost if it is added alone.
  EXPECT_EQ(step_loss({16777216.0F, 1.0F, 1.0F}), 16777216.0F);
  EXPECT_EQ(step_loss({1.0F, 1.0F, 16777216.0F}), 16777218.0F);
}

}  // namespace
}  // namespace plumbline
