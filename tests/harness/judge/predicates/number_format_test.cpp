// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "harness/judge/predicates/forms.hpp"
#include "support/error.hpp"

namespace plumbline::predicates {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(NumberFormat, Bfloat16HasEightDigitsAndTiesGoToEven) {
  const auto rounds = [](double value) { return rounded(Storage::bfloat16, value); };
  EXPECT_EQ(rounds(1 + 0x1p-7), 1 + 0x1p-7);
  EXPECT_EQ(rounds(1 + 0x1p-8), 1);
  EXPECT_EQ(rounds(1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7) << "one rounding, not two";
  EXPECT_EQ(rounds(-(1 + 3 * 0x1p-8)), -(1 + 0x1p-6));
  EXPECT_EQ(rounds(0), 0);
}

TEST(NumberFormat, Bfloat16HasTheRangeOfFloat32) {
  const auto rounds = [](double value) { return rounded(Storage::bfloat16, value); };
  const double largest = std::ldexp(255.0, 120);
  EXPECT_EQ(rounds(largest), largest);
  EXPECT_EQ(rounds(std::ldexp(255.49, 120)), largest);
  EXPECT_EQ(rounds(std::ldexp(255.5, 120)), infinity);
  EXPECT_EQ(rounds(-std::ldexp(256.0, 120)), -infinity);
  EXPECT_EQ(rounds(infinity), infinity);
  EXPECT_TRUE(std::isnan(rounds(std::nan(""))));
  EXPECT_EQ(rounds(0x1p-133), 0x1p-133);
  EXPECT_EQ(rounds(0.75 * 0x1p-133), 0x1p-133);
  EXPECT_EQ(rounds(0.5 * 0x1p-133), 0);
}

TEST(NumberFormat, Float32AndFloat64RoundOnce) {
  EXPECT_EQ(rounded(Storage::float32, 1 + 0x1p-24), 1) << "a tie rounds to even";
  EXPECT_EQ(rounded(Storage::float32, 1 + 0x1p-24 + 0x1p-50), 1 + 0x1p-23);
  EXPECT_EQ(rounded(Storage::float64, 1 + 0x1p-52), 1 + 0x1p-52);
}

TEST(NumberFormat, EachHasItsRoundoff) {
  for (const auto& [storage, digits] :
       {std::pair(Storage::float32, 24), {Storage::float64, 53}, {Storage::bfloat16, 8}})
    EXPECT_EQ(unit_roundoff(storage), std::ldexp(1.0, -digits));
}

TEST(NumberFormat, NoOtherDtypeIsTrained) {
  for (const char* dtype : {"float16", "int64", ""}) {
    EXPECT_FALSE(is_storage(dtype)) << dtype;
    EXPECT_THROW(storage_of(dtype), InputError) << dtype;
  }
  for (const char* dtype : {"float32", "float64", "bfloat16"}) EXPECT_TRUE(is_storage(dtype)) << dtype;
}

}  // namespace
}  // namespace plumbline::predicates
