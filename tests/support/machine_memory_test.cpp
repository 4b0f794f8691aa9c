// SPDX-License-Identifier: BSD-3-Clause
#include "support/machine_memory.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using testing::error_of;
using ::testing::MatchesRegex;

constexpr std::int64_t beyond = std::numeric_limits<std::int64_t>::max();

TEST(MachineMemory, LiesBetweenWhatAnyMachineHasAndWhatNoneHas) {
  EXPECT_GT(memory_limit(), std::int64_t{1} << 27);
  EXPECT_LT(memory_limit(), std::int64_t{1} << 50);
}

TEST(MachineMemory, WhatIsBeyondItIsRefusedWithBothNumbers) {
  EXPECT_NO_THROW(require_memory(memory_limit(), "a step"));
  EXPECT_THAT(error_of<SystemError>([] { require_memory(std::int64_t{1} << 60, "a step"); }),
              MatchesRegex("a step needs 1\\.00 EiB of memory, this machine has [0-9.]+ .iB; ask for less, .*"));
}

TEST(MachineMemory, SizesAreAddedAndMultipliedWithoutWrapping) {
  EXPECT_EQ(sum_of_sizes({}), 0);
  EXPECT_EQ(sum_of_sizes({1, 2, 3}), 6);
  EXPECT_EQ(sum_of_sizes({beyond - 1, 1}), beyond);
  EXPECT_EQ(sum_of_sizes({beyond, 1}), beyond);
  EXPECT_EQ(sum_of_sizes({1, beyond, beyond}), beyond);
  EXPECT_EQ(product_of_sizes({}), 1);
  EXPECT_EQ(product_of_sizes({2, 3, 4}), 24);
  EXPECT_EQ(product_of_sizes({std::int64_t{1} << 32, std::int64_t{1} << 32}), beyond);
  EXPECT_EQ(product_of_sizes({std::int64_t{1} << 62, 2}), beyond) << "one bit more than there is";
  EXPECT_EQ(product_of_sizes({beyond, beyond, 0}), 0) << "nothing, however often";
}

TEST(MachineMemory, BytesAreSaidInThreeFigures) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text(1024 * 1024 * 25), "25.0 MiB");
  EXPECT_EQ(bytes_text(beyond), "8.00 EiB");
}

}  // namespace
}  // namespace plumbline
