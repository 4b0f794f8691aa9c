// SPDX-License-Identifier: BSD-3-Clause
#include "training/round_once.hpp"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace plumbline {
namespace {

constexpr double too_large = std::numeric_limits<double>::infinity();

/// Value and the nearest bfloat16; neighbors of 1 are 2^-7 above and 2^-8 below it.
const std::vector<std::pair<double, double>> by_hand{{0, 0},
                                                     {1, 1},
                                                     {1 + 0x1p-8, 1},
                                                     {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-7},
                                                     {1 + 3 * 0x1p-8, 1 + 0x1p-6},
                                                     {1 + 3 * 0x1p-8 - 0x1p-40, 1 + 0x1p-7},
                                                     {1 - 0x1p-9 - 0x1p-40, 1 - 0x1p-8},
                                                     {0x1p-200, 0},
                                                     {0x1p-133, 0x1p-133},
                                                     {1.5 * 0x1p-134, 0x1p-133},
                                                     {1e300, too_large},
                                                     {too_large, too_large}};

at::Tensor tensor_of(const std::vector<double>& values) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::kDouble);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<double>());
  return tensor;
}

TEST(RoundToBfloat16, RoundsToNearestTiesToEven) {
  for (const auto& [value, expected] : by_hand) {
    EXPECT_EQ(static_cast<double>(round_to_bfloat16(value)), expected) << value;
    EXPECT_EQ(static_cast<double>(round_to_bfloat16(-value)), -expected) << value;
  }
  EXPECT_TRUE(std::isnan(static_cast<double>(round_to_bfloat16(std::nan("")))));
}

TEST(RoundToBfloat16, RoundsEachElementOfATensor) {
  std::vector<double> values{std::nan("")};
  for (const auto& [value, expected] : by_hand) values.insert(values.end(), {value, -value});
  for (int i = 1; i < 20000; ++i) values.push_back(std::sin(i) * std::pow(2.0, i % 40 - 20));

  const at::Tensor rounded = round_to_bfloat16(tensor_of(values));

  ASSERT_EQ(rounded.scalar_type(), at::kBFloat16);
  const auto* bits = rounded.const_data_ptr<c10::BFloat16>();
  EXPECT_TRUE(std::isnan(static_cast<float>(bits[0])));
  for (std::size_t i = 1; i < values.size(); ++i) EXPECT_EQ(bits[i].x, round_to_bfloat16(values[i]).x) << values[i];
}

TEST(RoundToBfloat16, DiffersFromLibTorchsConversion) {
  const at::Tensor beside_a_middle = tensor_of({1 + 0x1p-8 + 0x1p-40});

  EXPECT_FALSE(round_to_bfloat16(beside_a_middle).equal(beside_a_middle.to(at::kBFloat16)))
      << "if they agree now, this file is no longer needed";
}

}  // namespace
}  // namespace plumbline
