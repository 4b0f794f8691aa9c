// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "harness/judge/limits/limits.hpp"
#include "support/error.hpp"

namespace plumbline::judging {
namespace {

template <typename Number>
SafetensorsEntry entry(const char* dtype, const std::vector<Number>& values) {
  return {dtype, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values))};
}

TEST(RelativeError, IsTheDistanceDividedByTheTruthsSize) {
  const std::vector<float> got = {3, 4.5F};
  const std::vector<double> truth = {3, 4};

  EXPECT_DOUBLE_EQ(relative_error(entry("float32", got), entry("float64", truth)), 0.1);
  EXPECT_DOUBLE_EQ(relative_error(1.5, 2.0), 0.25);
  EXPECT_DOUBLE_EQ(relative_error(1.5, -2.0), 1.75);
}

TEST(RelativeError, EveryElementCounts) {
  const std::vector<double> truth = {3, 4};
  EXPECT_DOUBLE_EQ(relative_error(entry("float64", std::vector<double>{3.3, 4.4}), entry("float64", truth)), 0.1)
      << "sqrt(0.3^2 + 0.4^2) / 5";
}

TEST(RelativeError, OfSmallNumbersIsRelativeToo) {
  const std::vector<double> truth = {1e-30}, got = {1.5e-30};
  EXPECT_DOUBLE_EQ(relative_error(entry("float64", got), entry("float64", truth)), 0.5);
  EXPECT_DOUBLE_EQ(relative_error(1.5e-30, 1e-30), 0.5);
}

TEST(RelativeError, ATensorIsZeroIfAllElementsAre) {
  for (const std::vector<double>& some : {std::vector<double>{0, -0.25}, {0.25, 0}, {0, 1e-300, 0}, {-0.25}})
    EXPECT_FALSE(all_zero(entry("float64", some))) << some[0];
  EXPECT_TRUE(all_zero(entry("float64", std::vector<double>{0, -0.0})));
}

TEST(RelativeError, ReadsBfloat16AsTheUpperHalfOfAFloat32) {
  const std::vector<std::uint16_t> got = {0x3F80, 0xC000};  // 1, -2
  const std::vector<double> truth = {1, -2};

  EXPECT_EQ(relative_error(entry("bfloat16", got), entry("float64", truth)), 0);
}

TEST(RelativeError, IsAbsoluteWhereTheTruthIsZero) {
  const std::vector<float> zero = {0, 0}, some = {0, 0.25F};
  const std::vector<double> truth = {0, 0};

  EXPECT_TRUE(all_zero(entry("float64", truth)));
  EXPECT_FALSE(all_zero(entry("float32", some)));
  EXPECT_EQ(relative_error(entry("float32", zero), entry("float64", truth)), 0);
  EXPECT_EQ(relative_error(entry("float32", some), entry("float64", truth)), 0.25);
  EXPECT_EQ(relative_error(0.25, 0.0), 0.25);
}

TEST(RelativeError, OfNanIsBelowNoLimit) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::vector<double> truth = {1, 2};
  const std::vector<float> with_nan = {1, nan}, with_inf = {inf, 2};

  EXPECT_FALSE(relative_error(entry("float32", with_nan), entry("float64", truth)) <= 1e300);
  EXPECT_FALSE(relative_error(entry("float32", with_inf), entry("float64", truth)) <= 1e300);
}

TEST(RelativeError, RefusesOtherShapesAndIntegers) {
  const std::vector<float> two = {1, 2}, three = {1, 2, 3};
  const std::vector<std::int64_t> whole = {1, 2};

  EXPECT_THROW(relative_error(entry("float32", two), entry("float32", three)), InputError);
  const std::vector<double> six(6);
  const SafetensorsEntry wide{"float64", {2, 3}, std::as_bytes(std::span(six))};
  const SafetensorsEntry tall{"float64", {3, 2}, std::as_bytes(std::span(six))};
  EXPECT_THROW(relative_error(wide, tall), InputError);
  EXPECT_THROW(relative_error(entry("int64", whole), entry("float32", two)), InputError);
}

}  // namespace
}  // namespace plumbline::judging
