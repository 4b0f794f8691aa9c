// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "model/parameter.hpp"
#include "tests/training/parameters.hpp"
#include "training/memory_meter.hpp"
#include "training/optimizer.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using testing::numbers_of;
using testing::parameter_of;
using testing::state_of;

TEST(ClipCoefficient, IsLimitOverNormWithoutEpsilon) {
  EXPECT_EQ(clip_coefficient(4.0, 1.0), 0.25);
  EXPECT_EQ(clip_coefficient(3.0, 1.0), 1.0 / 3.0);
  EXPECT_EQ(clip_coefficient(1.0, 1.0), 1.0);
  EXPECT_EQ(clip_coefficient(0.5, 1.0), 1.0);
  EXPECT_EQ(clip_coefficient(0.0, 1.0), 1.0);
}

TEST(ClipCoefficient, IsOneWithoutALimit) {
  EXPECT_EQ(clip_coefficient(1e9, std::nullopt), 1.0);
}

TEST(ClipCoefficient, IsNanForANanNorm) {
  EXPECT_TRUE(std::isnan(clip_coefficient(std::numeric_limits<double>::quiet_NaN(), 1.0)));
}

TEST(ScaleGradients, RoundsOnce) {
  const double coefficient = 0.7;
  std::vector<double> numbers{0, 1e-30F, -3.3e7F};
  for (int i = 1; i < 100; ++i) numbers.push_back(static_cast<float>(std::sin(i)));
  std::vector<Parameter> parameters{parameter_of("a", numbers, numbers)};

  scale_gradients(state_of(parameters), coefficient);

  int other_if_rounded_twice = 0;
  const std::vector<double> scaled = numbers_of(parameters[0].value.grad());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(scaled[i], static_cast<double>(static_cast<float>(numbers[i] * coefficient)));
    const float twice = static_cast<float>(numbers[i]) * static_cast<float>(coefficient);
    other_if_rounded_twice += static_cast<double>(twice) == scaled[i] ? 0 : 1;
  }
  EXPECT_GT(other_if_rounded_twice, 0) << "these numbers cannot tell a rounded coefficient";
}

TEST(ScaleGradients, ScalesFloat64WithoutATensor) {
  std::vector<Parameter> parameters{parameter_of("a", {0, 0}, {1.1, -3}, at::kDouble)};
  const TrainState state = state_of(parameters);
  MemoryMeter& meter = new_memory_meter();
  meter.attach();

  scale_gradients(state, 0.7);

  EXPECT_EQ(meter.total().peak, 0);
  EXPECT_THAT(numbers_of(parameters[0].value.grad()), ElementsAre(1.1 * 0.7, -3 * 0.7));
}

TEST(ScaleGradients, RoundsOnceToBfloat16) {
  // Neighbors of 1 are 2^-7 apart. A value closer to half-way than float32 can represent rounds to the nearer
  // neighbor.
  for (const auto& [coefficient, expected] :
       std::vector<std::pair<double, double>>{{1 + 0x1p-8, 1},
                                              {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-7},
                                              {1 + 3 * 0x1p-8, 1 + 0x1p-6},
                                              {1 + 3 * 0x1p-8 - 0x1p-40, 1 + 0x1p-7},
                                              {1 - 0x1p-9 - 0x1p-40, 1 - 0x1p-8},
                                              {0x1p-140, 0},
                                              {0x1p-130, 0x1p-130}}) {
    std::vector<Parameter> parameters{parameter_of("a", {0, 0}, {1, -1}, at::kBFloat16)};

    scale_gradients(state_of(parameters), coefficient);

    EXPECT_THAT(numbers_of(parameters[0].value.grad()), ElementsAre(expected, -expected)) << coefficient;
  }
}

TEST(ScaleGradients, RoundsBfloat16ToNearest) {
  std::vector<double> numbers;
  for (int i = 1; i < 1000; ++i) numbers.push_back(std::sin(i));
  std::vector<Parameter> parameters{parameter_of("a", numbers, numbers, at::kBFloat16)};
  const std::vector<double> before = numbers_of(parameters[0].value.grad());

  scale_gradients(state_of(parameters), 0.7);

  const std::vector<double> scaled = numbers_of(parameters[0].value.grad());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double exact = before[i] * 0.7;
    const double half_ulp = std::ldexp(1.0, std::ilogb(scaled[i]) - 8);
    EXPECT_LE(std::abs(scaled[i] - exact), half_ulp) << exact;
  }
}

// The GPU code path, on a CPU: the bits of the loop above, in pieces that take less than 16 MiB.
TEST(ScaleInPieces, MatchesScalingByElement) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const at::Tensor pieces = at::arange((std::int64_t{1} << 21) + 5, at::kFloat).sin().to(dtype);
    std::vector<Parameter> one_by_one{parameter_of("a", {}, {}, dtype)};
    one_by_one[0].value = at::zeros_like(pieces).requires_grad_();
    one_by_one[0].value.mutable_grad() = pieces.clone();
    scale_gradients(state_of(one_by_one), 0.7);
    MemoryMeter& meter = new_memory_meter();
    meter.attach();

    scale_in_pieces(pieces, 0.7);

    EXPECT_LT(meter.total().peak, 16 << 20) << dtype;
    EXPECT_TRUE(at::equal(pieces, one_by_one[0].value.grad())) << dtype;
  }
}

TEST(ScaleGradients, ANanCoefficientMakesEveryGradientNan) {
  std::vector<Parameter> parameters{parameter_of("a", {0}, {1})};

  scale_gradients(state_of(parameters), std::numeric_limits<double>::quiet_NaN());

  EXPECT_TRUE(std::isnan(numbers_of(parameters[0].value.grad())[0]));
}

}  // namespace
}  // namespace plumbline
