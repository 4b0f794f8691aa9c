// SPDX-License-Identifier: BSD-3-Clause
#include "support/median.hpp"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

TEST(Median, IsTheMiddleOneOrLiesBetweenTheTwoInTheMiddle) {
  EXPECT_EQ(median_of({}), std::nullopt);
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({8, 1, 2, 4}), 3);
}

}  // namespace
}  // namespace plumbline
