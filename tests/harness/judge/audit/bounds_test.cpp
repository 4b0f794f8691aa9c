// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/audit/bounds.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace plumbline::auditing {
namespace {

TEST(Bounds, AreEightRoundingsOfTheTermsAway) {
  const Bounds bounds = bounds_of(Storage::float32, Sum<double>{1, 4});

  EXPECT_EQ(bounds.lowest, 1 - 8 * 4 * std::ldexp(1.0, -24));
  EXPECT_EQ(bounds.highest, 1 + 8 * 4 * std::ldexp(1.0, -24));
}

TEST(Bounds, AdmitWhatIsLostWhereTermsUnderflow) {
  const Bounds bounds = bounds_of(Storage::float32, Sum<double>{0, 0});

  EXPECT_EQ(bounds.lowest, -8 * std::ldexp(1.0, -149));
  EXPECT_EQ(bounds.highest, 8 * std::ldexp(1.0, -149));
}

TEST(Bounds, OfBfloat16AreThoseOfASumInFloat32) {
  const Bounds bounds = bounds_of(Storage::bfloat16, Sum<double>{1, 4});

  EXPECT_EQ(bounds.lowest, 1) << "the next number of bfloat16 is 2^-8 below";
  EXPECT_EQ(bounds.highest, 1);
}

TEST(Bounds, AdmitTheirEndsAndNoNaN) {
  const Bounds bounds{-1, 2};

  EXPECT_TRUE(bounds.admit(-1));
  EXPECT_TRUE(bounds.admit(2));
  EXPECT_FALSE(bounds.admit(std::nextafter(2.0, 3.0)));
  EXPECT_FALSE(bounds.admit(std::nan("")));
}

}  // namespace
}  // namespace plumbline::auditing
