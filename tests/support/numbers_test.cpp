// SPDX-License-Identifier: BSD-3-Clause
#include "support/numbers.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace plumbline {
namespace {

template <typename Number, typename Bits, typename Random>
void expect_that_any_number_reads_back(Random random, std::optional<Number> (*parse)(std::string_view)) {
  for (int i = 0; i < 100000; ++i) {
    const auto bits = static_cast<Bits>(random());
    const auto value = std::bit_cast<Number>(bits);
    if (!std::isnan(value)) {
      ASSERT_EQ(std::bit_cast<Bits>(parse(to_text(value)).value()), bits) << to_text(value);
    }
  }
}

TEST(Numbers, EveryKindOfFloatAndDoubleReadsBackToItsBits) {
  expect_that_any_number_reads_back<float, std::uint32_t>(std::mt19937(1), parse_float);
  expect_that_any_number_reads_back<double, std::uint64_t>(std::mt19937_64(1), parse_double);
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

TEST(Numbers, RefusesTrailingCharacters) {
  for (const char* text : {"", " 1", "1 ", "1x", "+1", "--1", "0x10", "1,5"}) {
    EXPECT_FALSE(parse_integer(text)) << text;
    EXPECT_FALSE(parse_double(text)) << text;
    EXPECT_FALSE(parse_float(text)) << text;
  }
  EXPECT_FALSE(parse_integer("1.0"));
}

TEST(Median, IsTheMiddleValueOrTheMeanOfTheTwoMiddleValues) {
  EXPECT_EQ(median_of({}), std::nullopt);
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({8, 1, 2, 4}), 3);
}

TEST(Numbers, ValuesOutOfRangeAreRefused) {
  EXPECT_EQ(parse_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(parse_integer("9223372036854775808"));
  EXPECT_FALSE(parse_float("1e39"));
  EXPECT_FALSE(parse_double("1e309"));
}

}  // namespace
}  // namespace plumbline
