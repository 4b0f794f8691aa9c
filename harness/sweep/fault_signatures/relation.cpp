// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/fault_signatures/relation.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <map>

namespace plumbline {
namespace {

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
  const std::string& dtype = reference.dtype;
  if (dtype != candidate.dtype || reference.shape != candidate.shape || (dtype != "bfloat16" && dtype != "float32"))
    return {};
  std::map<std::int64_t, std::int64_t> counts;
  for (std::size_t i = 0; i < reference.bytes.size() / dtype_size(dtype); ++i) {
    if (const auto apart = ulps_between(dtype, reference.bytes, candidate.bytes, i))
      ++counts[bucket_start(*apart)];
    else
      ++not_numbers;
  }
  std::vector<UlpBucket> buckets;
  for (const auto& [from, elements] : counts) buckets.push_back({from, from == 0 ? 0 : 2 * from - 1, elements});
  return buckets;
}

}  // namespace plumbline
