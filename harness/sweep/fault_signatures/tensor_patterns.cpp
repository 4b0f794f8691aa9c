// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/fault_signatures/tensor_patterns.hpp"

#include <bit>

#include "harness/sweep/fault_signatures/factors.hpp"

namespace plumbline {

namespace {

/// ", 1 ULP": the distance of the only differing element.
std::string distance_text(const SafetensorsEntry& expected, const SafetensorsEntry& got) {
  std::int64_t not_numbers = 0;
  for (const UlpBucket& bucket : ulp_buckets(expected, got, not_numbers)) {
    if (bucket.from == 0) continue;
    return ", " + std::to_string(bucket.from) + (bucket.to > bucket.from ? " ULP or more" : " ULP");
  }
  return "";
}

}  // namespace

std::optional<FaultSignature> few_elements(const std::string& what, const SafetensorsEntry& expected,
                                           const SafetensorsEntry& got) {
  const Relation relation = relation_of(expected, got);
  if (!relation.comparable || relation.differing != 1 || relation.elements < 2) return std::nullopt;
  int bits = 0;
  for (std::size_t i = 0; i < got.bytes.size(); ++i)
    bits += std::popcount(static_cast<unsigned>(std::to_integer<unsigned>(expected.bytes[i] ^ got.bytes[i])));
  const std::string evidence = "1 of " + std::to_string(relation.elements) + " elements, " + std::to_string(bits) +
                               (bits == 1 ? " bit" : " bits") + distance_text(expected, got);
  if (bits == 1)
    return FaultSignature{"one_bit", what + " differs in a single bit", evidence,
                          "a bit flipped in memory or in transit, or one value rounded the other way"};
  return FaultSignature{"one_element", what + " differs in a single element", evidence,
                        "an element written twice or overwritten, or one value rounded the other way"};
}

std::optional<FaultSignature> rounding(const std::string& what, const Relation& relation, double tolerance) {
  if (!relation.comparable || relation.equal || !relation.is_multiple(1, tolerance) || relation.differing < 2)
    return std::nullopt;
  return FaultSignature{"rounding", what + " differs from the reference's by rounding alone",
                        "ratio " + factor_text(relation.ratio) + ", residual " + factor_text(relation.residual) + ", " +
                            std::to_string(relation.differing) + " of " + std::to_string(relation.elements) +
                            " elements",
                        "the same terms summed in another order or by another kernel"};
}

}  // namespace plumbline
