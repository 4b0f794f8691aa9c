// SPDX-License-Identifier: BSD-3-Clause
#include "support/elements.hpp"

#include <cmath>
#include <cstdlib>

namespace plumbline {
namespace {

/// Index of a number in the order of all numbers of its dtype.
template <typename Bits>
std::int64_t ordinal(Bits bits) {
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof bits - 1));
  const auto size = static_cast<std::int64_t>(bits & static_cast<Bits>(~sign));
  return (bits & sign) != 0 ? -size : size;
}

}  // namespace

std::size_t dtype_size(const std::string& dtype) {
  if (dtype == "float64" || dtype == "int64") return 8;
  if (dtype == "float32") return 4;
  return dtype == "bfloat16" || dtype == "float16" ? 2 : 0;
}

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

float float16_value(std::uint16_t bits) {
  const int exponent = (bits >> 10U) & 31U, fraction = bits & 1023U;
  float size = std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  if (exponent == 0) size = std::ldexp(static_cast<float>(fraction), -24);
  if (exponent == 31) size = fraction == 0 ? HUGE_VALF : std::nanf("");
  return (bits & 0x8000U) != 0 ? -size : size;
}

std::vector<double> numbers_of(const std::string& dtype, std::span<const std::byte> bytes) {
  std::vector<double> numbers;
  if (const std::size_t size = dtype_size(dtype); size > 0 && dtype != "int64") numbers.reserve(bytes.size() / size);
  for_each_number(dtype, bytes, [&](double number) { numbers.push_back(number); });
  return numbers;
}

std::optional<std::int64_t> ulps_between(const std::string& dtype, std::span<const std::byte> one,
                                         std::span<const std::byte> other, std::size_t element) {
  const auto apart = [&]<typename Bits>(float (*value_of)(Bits)) -> std::optional<std::int64_t> {
    const auto left = stored_at<Bits>(one, element), right = stored_at<Bits>(other, element);
    if (std::isnan(value_of(left)) || std::isnan(value_of(right))) return std::nullopt;
    return std::abs(ordinal(left) - ordinal(right));
  };
  if (dtype == "float32") return apart(+[](std::uint32_t bits) { return std::bit_cast<float>(bits); });
  return dtype == "bfloat16" ? apart(&bfloat16_value) : std::nullopt;
}

}  // namespace plumbline
