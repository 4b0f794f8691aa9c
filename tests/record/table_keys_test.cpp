// SPDX-License-Identifier: BSD-3-Clause
#include "record/table_keys.hpp"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

/// The error for one step with these numbers, in this order.
std::string wrong_in(const std::vector<std::int64_t>& numbers, Complete demand) {
  Manifest manifest;
  manifest.steps = 1;
  manifest.microbatches = 4;
  TableKeys keys(manifest, demand, /*complete=*/true);
  for (const std::int64_t number : numbers)
    if (const auto wrong = keys.accept(0, number, [&] { return std::to_string(number); })) return *wrong;
  return keys.finish().value_or("");
}

TEST(TableKeys, AStepsNumbersMayComeInAnyOrderButOnlyOnce) {
  for (const auto demand : {Complete::each_microbatch, Complete::each_index}) {
    EXPECT_EQ(wrong_in({0, 1, 2, 3}, demand), "");
    EXPECT_EQ(wrong_in({3, 1, 2, 0}, demand), "");
    EXPECT_EQ(wrong_in({3, 3, 0, 1, 2}, demand), "a second row of the same key: 3");
    EXPECT_EQ(wrong_in({1, 0, 1, 2, 3}, demand), "a second row of the same key: 1");
    EXPECT_EQ(wrong_in({2, 0, 3}, demand).find("step 0 has no row of "), 0U);
    EXPECT_EQ(wrong_in({1, 3, 0}, demand).find("step 0 has no row of "), 0U);
  }
  EXPECT_EQ(wrong_in({2, 0, 3}, Complete::each_index), "step 0 has no row of index 1");
  EXPECT_EQ(wrong_in({1, 3, 0}, Complete::each_index), "step 0 has no row of index 2");
  EXPECT_EQ(wrong_in({0, 1, 2}, Complete::each_microbatch), "step 0 has no row of microbatch 3");
  EXPECT_EQ(wrong_in({0, 1}, Complete::each_index), "") << "a check judges how many there are";
}

}  // namespace
}  // namespace plumbline
