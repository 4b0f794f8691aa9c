// SPDX-License-Identifier: BSD-3-Clause
#include "support/numbers.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace plumbline {
namespace {

TEST(Numbers, EveryKindOfFloatReadsBackToItsBits) {
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(value)) continue;

    const auto back = parse_float(to_text(value));

    ASSERT_TRUE(back) << to_text(value);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(*back), std::bit_cast<std::uint32_t>(value)) << to_text(value);
  }
}

TEST(Numbers, EveryKindOfDoubleReadsBackToItsBits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const auto value = std::bit_cast<double>(static_cast<std::uint64_t>(random()));
    if (std::isnan(value)) continue;

    const auto back = parse_double(to_text(value));

    ASSERT_TRUE(back) << to_text(value);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(*back), std::bit_cast<std::uint64_t>(value)) << to_text(value);
  }
}

TEST(Numbers, TextIsTheShortest) {
  EXPECT_EQ(to_text(0.1f), "0.1");
  EXPECT_EQ(to_text(1e-3), "0.001");
  EXPECT_EQ(to_text(-0.0), "-0");
  EXPECT_EQ(to_text(std::int64_t{-100}), "-100");
}

TEST(Numbers, ValuesThatAreNotFiniteHaveOneSpelling) {
  const double infinity = std::numeric_limits<double>::infinity();

  EXPECT_EQ(to_text(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(to_text(-std::numeric_limits<float>::quiet_NaN()), "nan");
  EXPECT_EQ(to_text(infinity), "inf");
  EXPECT_EQ(to_text(-infinity), "-inf");
  EXPECT_TRUE(std::isnan(parse_double("nan").value()));
  EXPECT_EQ(parse_float("-inf"), -std::numeric_limits<float>::infinity());
}

TEST(Numbers, AFloatWrittenAsADoubleReadsBackToItsBits) {
  EXPECT_EQ(parse_float("5.43209981918335"), 5.4321f);  // as Python prints float32 values
}

TEST(Numbers, LeftOversAreRefused) {
  for (const char* text : {"", " 1", "1 ", "1x", "+1", "--1", "0x10", "1,5"}) {
    EXPECT_FALSE(parse_integer(text)) << text;
    EXPECT_FALSE(parse_double(text)) << text;
    EXPECT_FALSE(parse_float(text)) << text;
  }
  EXPECT_FALSE(parse_integer("1.0"));
}

TEST(Numbers, ValuesOutOfRangeAreRefused) {
  EXPECT_EQ(parse_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(parse_integer("9223372036854775808"));
  EXPECT_FALSE(parse_float("1e39"));
  EXPECT_FALSE(parse_double("1e309"));
}

}  // namespace
}  // namespace plumbline
