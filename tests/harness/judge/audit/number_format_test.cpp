#include "harness/judge/audit/number_format.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/error.hpp"

namespace plumbline::auditing {
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

TEST(NumberFormat, Bfloat16ReachesAsFarAsFloat32) {
  const auto rounds = [](double value) { return rounded(Storage::bfloat16, value); };
  const double largest = std::ldexp(255.0, 120);
  EXPECT_EQ(rounds(largest), largest);
  EXPECT_EQ(rounds(std::ldexp(255.49, 120)), largest);
  EXPECT_EQ(rounds(std::ldexp(255.5, 120)), infinity);
  EXPECT_EQ(rounds(-std::ldexp(256.0, 120)), -infinity);
  EXPECT_EQ(rounds(infinity), infinity);
  EXPECT_TRUE(std::isnan(rounds(std::nan(""))));
  EXPECT_EQ(rounds(0x1p-133), smallest(Storage::bfloat16));
  EXPECT_EQ(rounds(0.75 * 0x1p-133), 0x1p-133);
  EXPECT_EQ(rounds(0.5 * 0x1p-133), 0);
}

TEST(NumberFormat, OfNoOtherDtypeIsAnythingTrained) {
  for (const char* dtype : {"float16", "int64", ""}) {
    EXPECT_FALSE(is_storage(dtype)) << dtype;
    EXPECT_THROW(storage_of(dtype), InputError) << dtype;
  }
  for (const char* dtype : {"float32", "float64", "bfloat16"}) EXPECT_TRUE(is_storage(dtype)) << dtype;
}

}  // namespace
}  // namespace plumbline::auditing
