// SPDX-License-Identifier: BSD-3-Clause
#include "record/tensor_statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#undef XXH_NO_INLINE_HINTS
#define XXH_NO_INLINE_HINTS 1  // -Og, with which tests are compiled, does not inline all functions that xxHash forces
#include "record/digest.hpp"
#include "record/tensor_measure.hpp"
#include "record/tensor_pass.hpp"
#include "support/elements.hpp"

namespace plumbline::testing {
namespace {

TEST(TensorStatistics, MatchEachDtype) {
  const std::array<float, 6> floats{3, 0, 0, 0, -4, 0};
  const auto of_float = described("float32", {3, 2}, std::as_bytes(std::span(floats)));
  EXPECT_EQ(of_float.l2, 5);
  EXPECT_EQ(of_float.max_abs, 4.0F);
  EXPECT_EQ(of_float.nonzero, 2);
  EXPECT_EQ(of_float.nonzero_rows, 2);
  const std::array<std::uint16_t, 3> halves{0x3E00, 0xFC00, 0x0001};  // 1.5, -inf, the smallest
  const auto of_half = described("float16", {3}, std::as_bytes(std::span(halves)));
  EXPECT_EQ(of_half.inf, 1);
  EXPECT_TRUE(std::isinf(of_half.l2) && std::isinf(of_half.max_abs));
  EXPECT_EQ(of_half.nonzero, 3);
  EXPECT_FALSE(of_half.nonzero_rows.has_value());
  const std::array<std::uint16_t, 1> smallest{0x0001};
  EXPECT_EQ(described("float16", {1}, std::as_bytes(std::span(smallest))).l2, std::ldexp(1, -24));
  const std::array<std::uint16_t, 2> brains{0xC000, 0x7FC0};  // -2, NaN
  const auto of_brain = described("bfloat16", {2}, std::as_bytes(std::span(brains)));
  EXPECT_EQ(of_brain.nan, 1);
  EXPECT_TRUE(std::isnan(of_brain.l2));
  const std::array<double, 1> wide{1e300};
  EXPECT_TRUE(std::isinf(described("float64", {1}, std::as_bytes(std::span(wide))).max_abs));
  const std::array<float, 3> with_nan = {2, std::numeric_limits<float>::quiet_NaN(), -4};
  const auto of_nan = described("float32", {3}, std::as_bytes(std::span(with_nan)));
  EXPECT_TRUE(std::isnan(of_nan.max_abs));
  EXPECT_EQ(of_nan.nan, 1);
  EXPECT_THROW(described("float32", {3}, std::as_bytes(std::span(wide))), std::logic_error);
  const std::array<std::int64_t, 3> whole{3, 0, std::numeric_limits<std::int64_t>::min()};
  EXPECT_EQ(described("int64", {3}, std::as_bytes(std::span(whole))).max_abs, 0x1p63F);
  EXPECT_EQ(described("int64", {3}, std::as_bytes(std::span(whole))).nonzero, 2);
}

TEST(TensorStatistics, LoseNoSmallElementsOfALargeMatrix) {
  std::vector<double> embedding(1000000, 1e-9);
  embedding[0] = 1;
  const auto bytes = std::as_bytes(std::span(embedding));
  EXPECT_NEAR(described("float64", {1000, 1000}, bytes).l2, 1 + 0.5e-12, 0.1e-12);
}

TEST(TensorStatistics, CountRowsOfAMatrix) {
  const std::array<float, 6> values_of_rows{0, 0, 0, 3, 0, 0};
  const auto bytes = std::as_bytes(std::span(values_of_rows));
  EXPECT_EQ(described("float32", {3, 2}, bytes).nonzero_rows, 1);
  EXPECT_EQ(described("float32", {2, 3}, bytes).nonzero_rows, 1);
  EXPECT_EQ(described("float32", {6, 1}, bytes).nonzero_rows, 1);
  EXPECT_EQ(described("float32", {0, 0}, {}).nonzero_rows, 0);
  EXPECT_FALSE(described("float32", {1, 2, 3}, bytes).nonzero_rows);
  EXPECT_FALSE(described("float32", {6}, bytes).nonzero_rows);
}

/// Random bits of a dtype, with some zeros. Half of the floats are near 1, because most random bits are not.
/// bits are not.
std::vector<std::byte> drawn(const std::string& dtype, std::size_t count, std::uint32_t seed) {
  std::mt19937_64 draw(seed);
  const std::size_t size = dtype_size(dtype);
  std::vector<std::byte> bytes(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = draw();
    if (draw() % 2 == 0) {
      const std::uint64_t one = dtype == "float16" ? 0x3C : dtype == "float64" ? 0x3FF : 0x3F8;
      bits = (bits >> 12U) | one << (dtype == "float64"   ? 52U
                                     : dtype == "float32" ? 20U
                                     : dtype == "float16" ? 8U
                                                          : 4U);
    }
    if (draw() % 3 == 0) bits = draw() % 2 == 0 ? 0 : std::uint64_t{1} << (8 * size - 1);  // -0.0
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

/// Clears the top exponents: no NaN, no infinity, and no square that overflows float64.
std::vector<std::byte> without_top_exponents(const std::string& dtype, std::vector<std::byte> bytes) {
  for (std::size_t i = dtype_size(dtype) - 1; i < bytes.size(); i += dtype_size(dtype)) bytes[i] &= std::byte{0xBF};
  return bytes;
}

/// Computes the row from the definition.
TensorRow expected_row(const std::string& dtype, const Shape& shape, const std::vector<std::byte>& bytes) {
  TensorRow row;
  row.digest = tensor_digest(dtype, shape, bytes);
  long double squares = 0;
  std::vector<bool> rows(shape.size() == 2 ? static_cast<std::size_t>(shape[0]) : 0);
  std::size_t place = 0;
  for_each_number(dtype, bytes, [&](double value) {
    squares += static_cast<long double>(value) * static_cast<long double>(value);
    row.max_abs = std::isnan(value) || std::isnan(row.max_abs)
                      ? std::nanf("")
                      : std::max(row.max_abs, std::abs(static_cast<float>(value)));
    row.nonzero += value != 0 ? 1 : 0;
    row.nan += std::isnan(value) ? 1 : 0;
    row.inf += std::isinf(value) ? 1 : 0;
    if (!rows.empty() && value != 0) rows[place / static_cast<std::size_t>(shape[1])] = true;
    ++place;
  });
  row.l2 = std::sqrt(static_cast<double>(squares));  // infinite if float64 overflows
  if (shape.size() == 2) row.nonzero_rows = std::count(rows.begin(), rows.end(), true);
  return row;
}

void expect_same(const TensorRow& got, const TensorRow& expected, std::size_t count) {
  EXPECT_EQ(got.digest, expected.digest);
  EXPECT_EQ(got.nonzero, expected.nonzero);
  EXPECT_EQ(got.nonzero_rows, expected.nonzero_rows);
  EXPECT_EQ(got.nan, expected.nan);
  EXPECT_EQ(got.inf, expected.inf);
  EXPECT_TRUE(got.max_abs == expected.max_abs || (std::isnan(got.max_abs) && std::isnan(expected.max_abs)));
  if (std::isfinite(got.l2) || std::isfinite(expected.l2))
    EXPECT_LE(std::abs(got.l2 - expected.l2), static_cast<double>(count + 2) * 0x1p-53 * expected.l2);
  else
    EXPECT_EQ(std::isnan(got.l2), std::isnan(expected.l2));
}

TEST(TensorStatistics, MatchTheDefinitionForAnyBits) {
  std::uint32_t seed = 0;
  for (const std::string dtype : {"float32", "float64", "bfloat16", "float16"})
    for (const Shape& shape : {Shape{},
                               {1},
                               {15},
                               {16},
                               {17},
                               {0},
                               {3, 0},
                               {5, 7},
                               {1, 9000},
                               {9000, 1},
                               {130, 130},
                               {2, 3, 5},
                               {3, 20000}}) {
      const auto count = static_cast<std::size_t>(element_count(shape));
      std::vector<std::byte> bytes = drawn(dtype, count, ++seed);
      SCOPED_TRACE(dtype + " of " + std::to_string(count));
      expect_same(described(dtype, shape, bytes), expected_row(dtype, shape, bytes), count);
      const std::vector<std::byte> finite = without_top_exponents(dtype, bytes);
      expect_same(described(dtype, shape, finite), expected_row(dtype, shape, finite), count);
      const std::vector<std::byte> zeros(bytes.size());
      expect_same(described(dtype, shape, zeros), expected_row(dtype, shape, zeros), count);
      bytes.insert(bytes.begin(), std::byte{1});
      const auto unaligned = std::span(bytes).subspan(1);
      expect_same(described(dtype, shape, unaligned), expected_row(dtype, shape, {unaligned.begin(), unaligned.end()}),
                  count);
    }
}

TEST(TensorStatistics, HaveTheSameBitsForAnyInstructionsAndParts) {
  std::uint32_t seed = 0;
  for (const auto& [dtype, row] : std::vector<std::pair<std::string, std::size_t>>{
           {"float32", 0}, {"float32", 7}, {"float64", 30000}, {"bfloat16", 33}, {"float16", 1}, {"int64", 64}}) {
    SCOPED_TRACE(dtype);
    for (const bool finite : {false, true}) {
      std::vector<std::byte> bytes = drawn(dtype, 60000, ++seed);
      if (finite) bytes = without_top_exponents(dtype, bytes);
      TensorSums portable{.type = *element_type(dtype), .row = row};
      XXH3_state_t hash;
      XXH3_128bits_reset(&hash);
      add_elements(portable, hash, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
      TensorMeasure whole(*element_type(dtype), row, ""), parts(*element_type(dtype), row, "");
      whole.add(bytes.data(), bytes.size());
      const std::size_t first = 16384 * 3;  // sums of squares are added piece by piece
      parts.add(bytes.data(), first);
      parts.add(bytes.data() + first, bytes.size() - first);
      for (const TensorSums& sums : {portable, parts.sums()}) {
        EXPECT_TRUE(sums.squares == whole.sums().squares ||
                    (sums.nan > 0 && std::isnan(sums.squares) && std::isnan(whole.sums().squares)));
        EXPECT_TRUE(!finite || std::isfinite(sums.squares));
        EXPECT_EQ(sums.largest, whole.sums().largest);
        EXPECT_EQ(sums.nonzero, whole.sums().nonzero);
        EXPECT_EQ(sums.nonzero_rows, whole.sums().nonzero_rows);
        EXPECT_EQ(sums.nan, whole.sums().nan);
        EXPECT_EQ(sums.inf, whole.sums().inf);
      }
      EXPECT_EQ(parts.digest(), whole.digest());
      EXPECT_EQ(XXH3_128bits_digest(&hash).low64, std::stoull(whole.digest().substr(16), nullptr, 16));
      TensorMeasure digest(*element_type(dtype), row, "", /*counted=*/false);
      digest.add(bytes.data(), bytes.size());
      EXPECT_EQ(digest.digest(), whole.digest());
      EXPECT_EQ(digest.sums().nonzero, 0U);
    }
  }
}

}  // namespace
}  // namespace plumbline::testing
