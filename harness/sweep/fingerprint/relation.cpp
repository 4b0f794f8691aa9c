// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/fingerprint/relation.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <map>

namespace plumbline {
namespace {

template <typename Value>
Value stored(const SafetensorsEntry& entry, std::size_t element) {
  Value value;
  std::memcpy(&value, entry.bytes.data() + element * sizeof value, sizeof value);
  return value;
}

float half_to_float(std::uint16_t bits) {
  const int exponent = (bits >> 10U) & 31U;
  const auto mantissa = static_cast<float>(bits & 1023U);
  float value = 0;
  if (exponent == 31) {
    value = (bits & 1023U) != 0 ? NAN : HUGE_VALF;
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, -24);
  } else {
    value = std::ldexp(1024.0F + mantissa, exponent - 25);
  }
  return (bits & 0x8000U) != 0 ? -value : value;
}

/// Index of a number in the order of all numbers of its dtype: neighbours differ by 1, and both zeros are equal.
template <typename Bits>
std::int64_t place_in_order(Bits bits) {
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof bits - 1));
  const auto size = static_cast<std::int64_t>(bits & static_cast<Bits>(~sign));
  return (bits & sign) != 0 ? -size : size;
}

/// The lower end of a distance's bucket: 0, 1, 2, 4, 8, ...
std::int64_t bucket_start(std::int64_t distance) {
  return distance == 0 ? 0 : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(distance)));
}

}  // namespace

bool Relation::is_multiple(double factor, double tolerance) const {
  return comparable && !reference_zero && not_finite == 0 &&
         std::fabs(ratio - factor) <= tolerance * std::fabs(factor) && residual <= tolerance * std::fabs(factor);
}

double relation_tolerance(const std::string& dtype) {
  return dtype == "bfloat16" || dtype == "float16" ? 2e-2 : 1e-5;
}

std::vector<double> numbers_of(const SafetensorsEntry& entry) {
  const std::size_t size = dtype_size(entry.dtype);
  if (size == 0 || entry.dtype == "int64") return {};
  std::vector<double> numbers(entry.bytes.size() / size);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (entry.dtype == "float32") {
      numbers[i] = static_cast<double>(stored<float>(entry, i));
    } else if (entry.dtype == "float64") {
      numbers[i] = stored<double>(entry, i);
    } else if (entry.dtype == "bfloat16") {
      numbers[i] = static_cast<double>(std::bit_cast<float>(std::uint32_t{stored<std::uint16_t>(entry, i)} << 16U));
    } else {
      numbers[i] = static_cast<double>(half_to_float(stored<std::uint16_t>(entry, i)));
    }
  }
  return numbers;
}

Relation relation_of(const SafetensorsEntry& reference, const SafetensorsEntry& candidate) {
  Relation relation;
  if (reference.dtype != candidate.dtype || reference.shape != candidate.shape) return relation;
  const auto expected = numbers_of(reference), got = numbers_of(candidate);
  if (expected.empty() || expected.size() != got.size()) return relation;
  relation.comparable = true;
  relation.elements = std::ssize(got);
  relation.equal = std::memcmp(reference.bytes.data(), candidate.bytes.data(), reference.bytes.size()) == 0;
  const std::size_t size = dtype_size(reference.dtype);
  double product = 0, square = 0;
  relation.zero = true;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::memcmp(reference.bytes.data() + i * size, candidate.bytes.data() + i * size, size) != 0)
      ++relation.differing;
    if (got[i] != 0) relation.zero = false;
    if (!std::isfinite(expected[i])) continue;
    square += expected[i] * expected[i];
    if (std::isfinite(got[i])) {
      product += got[i] * expected[i];
    } else {
      ++relation.not_finite;
    }
  }
  relation.reference_zero = square == 0;
  if (square == 0) return relation;
  relation.ratio = product / square;
  double left = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = got[i] - relation.ratio * expected[i];
    if (std::isfinite(difference)) left += difference * difference;
  }
  relation.residual = std::sqrt(left / square);
  return relation;
}

std::vector<UlpBucket> ulp_buckets(const SafetensorsEntry& reference, const SafetensorsEntry& candidate,
                                   std::int64_t& not_numbers) {
  not_numbers = 0;
  const bool narrow = reference.dtype == "bfloat16";
  if (reference.dtype != candidate.dtype || reference.shape != candidate.shape ||
      (!narrow && reference.dtype != "float32"))
    return {};
  const auto expected = numbers_of(reference), got = numbers_of(candidate);
  std::map<std::int64_t, std::int64_t> counts;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i]) || std::isnan(got[i])) {
      ++not_numbers;
      continue;
    }
    const auto place = [&](const SafetensorsEntry& entry) {
      return narrow ? place_in_order(stored<std::uint16_t>(entry, i)) : place_in_order(stored<std::uint32_t>(entry, i));
    };
    ++counts[bucket_start(std::abs(place(reference) - place(candidate)))];
  }
  std::vector<UlpBucket> buckets;
  for (const auto& [from, elements] : counts) buckets.push_back({from, from == 0 ? 0 : 2 * from - 1, elements});
  return buckets;
}

}  // namespace plumbline
