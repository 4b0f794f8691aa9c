// SPDX-License-Identifier: BSD-3-Clause
#include "support/elements.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace plumbline {
namespace {

template <typename Stored>
std::vector<std::byte> bytes_of(std::vector<Stored> stored) {
  const auto bytes = std::as_bytes(std::span(stored));
  return {bytes.begin(), bytes.end()};
}
using Halves = std::vector<std::uint16_t>;

TEST(Elements, EveryFloatingDtypeIsWidenedExactly) {
  using ::testing::ElementsAre;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(numbers_of("float64", bytes_of<double>({0.1, -2})), ElementsAre(0.1, -2));
  EXPECT_THAT(numbers_of("float32", bytes_of<float>({0.1F})), ElementsAre(double{0.1F}));
  EXPECT_THAT(numbers_of("bfloat16", bytes_of(Halves{0x3F80, 0xC040, 0x7F80, 0x0001})),
              ElementsAre(1, -3, infinity, 0x1p-133));
  EXPECT_THAT(numbers_of("float16", bytes_of(Halves{0x3C00, 0xC100, 0xFC00, 0x0001, 0x03FF, 0x7BFF, 0x8000})),
              ElementsAre(1, -2.5, -infinity, 0x1p-24, 1023 * 0x1p-24, 65504, 0));
  EXPECT_TRUE(std::isnan(numbers_of("float16", bytes_of(Halves{0x7C01})).at(0)));
  EXPECT_THAT(numbers_of("int64", bytes_of<std::int64_t>({1})), ::testing::IsEmpty());
}

TEST(Elements, DistanceCountsTheNumbersBetween) {
  const auto apart = [](const std::string& dtype, const std::vector<std::byte>& one,
                        const std::vector<std::byte>& other) { return ulps_between(dtype, one, other, 1); };
  const auto floats = [](float value) { return bytes_of<float>({7, value}); };
  const auto halves = [](std::uint16_t bits) { return bytes_of(Halves{7, bits}); };

  EXPECT_EQ(apart("float32", floats(1), floats(std::nextafter(1.0F, 2.0F))), 1);
  EXPECT_EQ(apart("float32", floats(0.0F), floats(-0.0F)), 0);
  EXPECT_EQ(apart("float32", floats(-0x1p-149F), floats(0x1p-149F)), 2) << "through zero";
  EXPECT_EQ(apart("bfloat16", halves(0x3F80), halves(0x3F82)), 2);
  EXPECT_EQ(apart("bfloat16", halves(0x8001), halves(0x0001)), 2);
  EXPECT_EQ(apart("float32", floats(1), floats(std::nanf(""))), std::nullopt);
  EXPECT_EQ(apart("float16", halves(0), halves(1)), std::nullopt);
}

}  // namespace
}  // namespace plumbline
