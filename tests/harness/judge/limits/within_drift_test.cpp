// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>

#include "harness/judge/limits/value_comparison.hpp"

namespace plumbline::judging {
namespace {

TensorRow row_of(const std::string& kind, double l2, std::int64_t elements) {
  TensorRow row;
  row.kind = kind;
  row.shape = {elements};
  row.l2 = l2;
  return row;
}

/// The largest relative difference of a tensor's l2 that holds, to 1 %.
double allowed(const std::string& dtype, std::int64_t steps, const std::string& kind, double l2 = 1) {
  std::vector<RankRecord> reference(1);
  reference.front().tensors = {row_of(kind, 1, 100), row_of(kind, l2, 100)};
  WithinDrift values(dtype, steps, reference);
  double largest = 0;
  for (double one = 1e-5; one < 10; one *= 1.01) {
    if (!values.tensor(0, row_of(kind, l2, 100), row_of(kind, l2 * (1 - one), 100)).difference) largest = one;
  }
  return largest;
}

TEST(WithinDrift, InFloat32TheLimitGrowsWithTheSteps) {
  EXPECT_NEAR(allowed("float32", 0, "gradient"), 0.004, 1e-4);
  EXPECT_NEAR(allowed("float32", 3, "gradient"), 0.032, 1e-3);
  EXPECT_NEAR(allowed("float32", 9, "gradient"), 0.15, 3e-3);
  EXPECT_NEAR(allowed("bfloat16", 0, "gradient"), 0.15, 3e-3);
  EXPECT_GT(allowed("float32", 10, "gradient"), 9) << "equal trainings have drifted apart";
}

TEST(WithinDrift, ParametersMoveLessThanGradientsAndSquaresMore) {
  EXPECT_NEAR(allowed("bfloat16", 0, "parameter"), 0.075, 2e-3);
  EXPECT_NEAR(allowed("bfloat16", 0, "moment1"), 0.15, 3e-3);
  EXPECT_NEAR(allowed("bfloat16", 0, "moment2"), 0.3, 6e-3);
}

TEST(WithinDrift, TheDriftOfASmallTensorIsThatOfAllElements) {
  EXPECT_NEAR(allowed("bfloat16", 0, "parameter", 0.1), 0.075 / std::sqrt(2) / 0.1, 0.02) << "root mean square of both";
}

TEST(WithinDrift, WhatIsNoNumberDoesNotHold) {
  WithinDrift values("float32", 0, {});
  EXPECT_TRUE(values.loss({}, 1, NAN).difference);
  EXPECT_TRUE(values.gradient_norm(1, 1, NAN).difference);
  EXPECT_TRUE(values.tensor(0, row_of("gradient", 1, 1), row_of("gradient", NAN, 1)).difference);
  EXPECT_FALSE(values.loss({}, 1, 1.0005F).difference);
  EXPECT_TRUE(values.loss({}, 1, 1.003F).difference);
}

}  // namespace
}  // namespace plumbline::judging
