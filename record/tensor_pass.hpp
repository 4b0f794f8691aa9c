// SPDX-License-Identifier: BSD-3-Clause
// One pass over a tensor's elements, for its digest and statistics. Included by sources that are compiled for different
// instruction sets: all that is defined here is theirs alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "record/tensor_measure.hpp"

namespace plumbline {
namespace {

constexpr std::size_t piece_bytes = 16384;  // stays in a core's first cache from the hash to the last sum
constexpr std::size_t lanes = 16;           // sums of squares that are added side by side

struct Float32 {
  using Bits = std::uint32_t;
  static constexpr Bits infinity = 0x7F800000;
  static double wide(Bits bits) {
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return static_cast<double>(value);
  }
};

struct Float64 {
  using Bits = std::uint64_t;
  static constexpr Bits infinity = std::uint64_t{0x7FF0} << 48U;
  static double wide(Bits bits) {
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
};

struct Bfloat16 {
  using Bits = std::uint16_t;
  static constexpr Bits infinity = 0x7F80;
  static double wide(Bits bits) { return Float32::wide(std::uint32_t{bits} << 16U); }
};

struct Float16 {
  using Bits = std::uint16_t;
  static constexpr Bits infinity = 0x7C00;
  /// The magnitude of a finite number. Made from an integer: a processor may be set to read subnormal floats as zero.
  static double wide(Bits bits) {
    const std::uint32_t magnitude = std::uint32_t{bits} & 0x7FFFU;
    const double normal = Float32::wide((magnitude << 13U) + (112U << 23U));
    const double subnormal = static_cast<double>(static_cast<std::int32_t>(magnitude)) * 0x1p-24;
    return magnitude < 0x400 ? subnormal : normal;
  }
};

template <typename Bits>
Bits bits_at(const unsigned char* data, std::size_t element) {
  Bits bits = 0;
  std::memcpy(&bits, data + element * sizeof bits, sizeof bits);
  return bits;
}

/// Counts the rows that begin in or reach into this piece and are not all zero.
template <typename Bits>
void count_rows(TensorSums& sums, const unsigned char* data, std::size_t count, Bits without_sign) {
  for (std::size_t begin = 0; begin < count;) {
    const std::size_t end = begin + (sums.row - sums.column < count - begin ? sums.row - sums.column : count - begin);
    for (std::size_t i = begin; i < end && !sums.in_row; ++i)
      sums.in_row = (bits_at<Bits>(data, i) & without_sign) != 0;
    sums.column += end - begin;
    if (sums.column == sums.row) {
      sums.nonzero_rows += sums.in_row ? 1 : 0;
      sums.in_row = false;
      sums.column = 0;
    }
    begin = end;
  }
}

template <typename Float>
void add_floats(TensorSums& sums, const unsigned char* data, std::size_t count) {
  using Bits = typename Float::Bits;
  using Signed = std::make_signed_t<Bits>;  // magnitudes are not negative, and more processors compare these
  constexpr Bits without_sign = static_cast<Bits>(~Bits{0}) >> 1U;
  Signed largest = 0;
  Bits zeros = 0;  // of a piece, whose elements a Bits can count
  for (std::size_t i = 0; i < count; ++i) {
    const auto magnitude = static_cast<Signed>(bits_at<Bits>(data, i) & without_sign);
    largest = magnitude > largest ? magnitude : largest;
    zeros = static_cast<Bits>(zeros + (magnitude == 0 ? 1 : 0));
  }
  double squares[lanes] = {};
  std::size_t begin = 0;
  for (; begin + lanes <= count; begin += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double value = Float::wide(bits_at<Bits>(data, begin + lane));
      squares[lane] += value * value;
    }
  for (std::size_t lane = 0; begin < count; ++begin, ++lane) {
    const double value = Float::wide(bits_at<Bits>(data, begin));
    squares[lane] += value * value;
  }
  double all = 0;
  for (const double one : squares) all += one;
  sums.squares += all;
  const auto magnitude = static_cast<std::uint64_t>(largest);
  sums.largest = magnitude > sums.largest ? magnitude : sums.largest;
  sums.nonzero += count - zeros;
  if (static_cast<Bits>(largest) >= Float::infinity) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto each = static_cast<Bits>(bits_at<Bits>(data, i) & without_sign);
      sums.nan += each > Float::infinity ? 1 : 0;
      sums.inf += each == Float::infinity ? 1 : 0;
    }
    sums.squares += sums.nan > 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  }
  if (sums.row > 0) count_rows<Bits>(sums, data, count, without_sign);
}

inline void add_integers(TensorSums& sums, const unsigned char* data, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = bits_at<std::uint64_t>(data, i);
    const auto value = static_cast<double>(static_cast<std::int64_t>(bits));
    const std::uint64_t magnitude = bits >> 63U ? 0 - bits : bits;
    sums.squares += value * value;
    sums.largest = magnitude > sums.largest ? magnitude : sums.largest;
    sums.nonzero += bits != 0 ? 1 : 0;
  }
  if (sums.row > 0) count_rows<std::uint64_t>(sums, data, count, ~std::uint64_t{0});
}

inline void add_elements(TensorSums& sums, XXH3_state_t& hash, const unsigned char* data, std::size_t bytes) {
  if (!sums.counted) XXH3_128bits_update(&hash, data, bytes);
  while (sums.counted && bytes > 0) {
    const std::size_t piece = bytes < piece_bytes ? bytes : piece_bytes;
    XXH3_128bits_update(&hash, data, piece);
    switch (sums.type) {
      case ElementType::float32:
        add_floats<Float32>(sums, data, piece / 4);
        break;
      case ElementType::float64:
        add_floats<Float64>(sums, data, piece / 8);
        break;
      case ElementType::bfloat16:
        add_floats<Bfloat16>(sums, data, piece / 2);
        break;
      case ElementType::float16:
        add_floats<Float16>(sums, data, piece / 2);
        break;
      case ElementType::int64:
        add_integers(sums, data, piece / 8);
        break;
    }
    data += piece;
    bytes -= piece;
  }
}

}  // namespace
}  // namespace plumbline
