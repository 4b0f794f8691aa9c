// SPDX-License-Identifier: BSD-3-Clause
// Elements of tensors as they are stored: bytes of a dtype, values as doubles, distances in ULPs.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace plumbline {

/// Bytes of one element of a dtype; 0 if unknown.
std::size_t dtype_size(const std::string& dtype);

std::int64_t element_count(const std::vector<std::int64_t>& shape);

/// A bfloat16 is the upper half of a float32.
inline float bfloat16_value(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16U);
}
float float16_value(std::uint16_t bits);

/// The stored number with this index; `bytes` need not be aligned.
template <typename Stored>
Stored stored_at(std::span<const std::byte> bytes, std::size_t element) {
  Stored stored;
  std::memcpy(&stored, bytes.data() + element * sizeof stored, sizeof stored);
  return stored;
}

/// Calls `visit` with each element as a double, which is exact. Returns false for integers and unknown dtypes.
template <typename Visit>
bool for_each_number(const std::string& dtype, std::span<const std::byte> bytes, Visit visit) {
  const auto each = [&]<typename Stored>(Stored, auto widen) {
    const std::size_t count = bytes.size() / sizeof(Stored);
    for (std::size_t i = 0; i < count; ++i) visit(static_cast<double>(widen(stored_at<Stored>(bytes, i))));
    return true;
  };
  if (dtype == "float32") return each(float{}, [](float value) { return value; });
  if (dtype == "float64") return each(double{}, [](double value) { return value; });
  if (dtype == "bfloat16") return each(std::uint16_t{}, bfloat16_value);
  if (dtype == "float16") return each(std::uint16_t{}, float16_value);
  return false;
}

/// Empty for integers and unknown dtypes.
std::vector<double> numbers_of(const std::string& dtype, std::span<const std::byte> bytes);

/// Distance of an element of two tensors of that dtype in the order of its numbers: neighbors are 1 apart, and both
/// zeros are equal. nullopt for NaN, which has no order, and for dtypes other than float32 and bfloat16.
std::optional<std::int64_t> ulps_between(const std::string& dtype, std::span<const std::byte> one,
                                         std::span<const std::byte> other, std::size_t element);

}  // namespace plumbline
