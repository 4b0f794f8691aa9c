// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/predicates/number_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/error.hpp"

namespace plumbline::predicates {
namespace {

constexpr int bfloat16_digits = 8;
constexpr int bfloat16_smallest = -133;

/// Scales so that the last kept digit is the unit, rounds, and scales back: exact except for that rounding.
double rounded_to_bfloat16(double value) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;  // value = fraction x 2^exponent with a fraction from 0.5 to 1
  std::frexp(value, &exponent);
  const int last = std::max(exponent - bfloat16_digits, bfloat16_smallest);
  const double nearest = std::ldexp(std::nearbyint(std::ldexp(value, -last)), last);
  const double largest = std::ldexp(255.0, 120);
  return std::abs(nearest) > largest ? std::copysign(std::numeric_limits<double>::infinity(), value) : nearest;
}

}  // namespace

bool is_storage(const std::string& dtype) {
  return dtype == "float32" || dtype == "float64" || dtype == "bfloat16";
}

Storage storage_of(const std::string& dtype) {
  if (dtype == "float32") return Storage::float32;
  if (dtype == "float64") return Storage::float64;
  if (dtype == "bfloat16") return Storage::bfloat16;
  throw InputError(fmt::format("a tensor of dtype {} cannot be recomputed; float32, float64 and bfloat16 can", dtype));
}

double unit_roundoff(Storage storage) {
  return storage == Storage::float32 ? 0x1p-24 : storage == Storage::bfloat16 ? 0x1p-8 : 0x1p-53;
}

double rounded(Storage storage, double value) {
  if (storage == Storage::float32) return static_cast<double>(static_cast<float>(value));
  return storage == Storage::bfloat16 ? rounded_to_bfloat16(value) : value;
}

}  // namespace plumbline::predicates
