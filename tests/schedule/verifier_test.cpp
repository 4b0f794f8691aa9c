// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/verifier.hpp"

#include <gtest/gtest.h>

#include "schedule/lowering.hpp"
#include "tests/schedule/schedules.hpp"

namespace plumbline {
namespace {

TEST(Verify, GrowsLinearlyWithTheList) {
  // 2.6 million actions: a quadratic search would exceed the test's time limit.
  EXPECT_TRUE(verify(lower(make_schedule("1f1b", 256, 2048), false)).empty());
}

TEST(Verify, StopsAfterAHundredFindings) {
  Schedule empty = make_schedule("afab", 4, 100);
  for (ActionList& list : empty.ranks) list.clear();

  EXPECT_EQ(verify(empty).size(), ListFindings::limit);
}

}  // namespace
}  // namespace plumbline
