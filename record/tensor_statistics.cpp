// SPDX-License-Identifier: BSD-3-Clause
#include "record/tensor_statistics.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "support/safetensors.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

double of_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

double of_float16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double size = std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 0) size = std::ldexp(fraction, -24);
  if (exponent == 31) size = fraction == 0 ? HUGE_VAL : std::nan("");
  return (bits & 0x8000) != 0 ? -size : size;
}

template <typename Bits, typename Value>
TensorStatistics statistics_of(const Shape& shape, std::span<const std::byte> bytes, Value value_of) {
  TensorStatistics found;
  const std::size_t count = bytes.size() / sizeof(Bits);
  const std::size_t width = shape.size() == 2 ? static_cast<std::size_t>(shape[1]) : 0;
  if (shape.size() == 2) found.nonzero_rows = 0;
  double squares = 0, largest = 0;
  std::int64_t in_row = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + i * sizeof(Bits), sizeof(Bits));
    const double value = value_of(bits);
    const int nonzero = value != 0 ? 1 : 0;
    squares += value * value;
    largest = std::abs(value) > largest ? std::abs(value) : largest;
    found.nonzero += nonzero;
    found.nan += std::isnan(value) ? 1 : 0;
    found.inf += std::isinf(value) ? 1 : 0;
    in_row += nonzero;
    if (width != 0 && (i + 1) % width == 0) {
      *found.nonzero_rows += in_row > 0 ? 1 : 0;
      in_row = 0;
    }
  }
  found.l2 = std::sqrt(squares);
  found.max_abs = found.nan > 0 ? std::nanf("") : static_cast<float>(largest);
  return found;
}

}  // namespace

TensorStatistics tensor_statistics(const std::string& dtype, const Shape& shape, std::span<const std::byte> bytes) {
  std::size_t expected = dtype_size(dtype);
  for (const std::int64_t size : shape) expected *= static_cast<std::size_t>(size);
  if (expected != bytes.size())
    throw std::logic_error(dtype + " [" + shape_text(shape) + "] has " + std::to_string(bytes.size()) + " bytes");
  if (dtype == "float32")
    return statistics_of<std::uint32_t>(shape, bytes,
                                        [](std::uint32_t bits) { return double{std::bit_cast<float>(bits)}; });
  if (dtype == "float64")
    return statistics_of<std::uint64_t>(shape, bytes, [](std::uint64_t bits) { return std::bit_cast<double>(bits); });
  if (dtype == "bfloat16") return statistics_of<std::uint16_t>(shape, bytes, of_bfloat16);
  if (dtype == "float16") return statistics_of<std::uint16_t>(shape, bytes, of_float16);
  throw std::logic_error("no statistics of " + dtype);
}

}  // namespace plumbline
