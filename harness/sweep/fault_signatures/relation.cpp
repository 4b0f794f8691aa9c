// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/fault_signatures/relation.hpp"

#include <fmt/format.h>

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

std::string factor_text(double factor) {
  const bool usual = std::fabs(factor) >= 0.01 && std::fabs(factor) < 1e5;
  return usual ? fmt::format("{:.4f}", factor) : fmt::format("{:.4g}", factor);
}

std::vector<FactorCause> causes_of_factor(double factor, double tolerance, const StepFacts& facts) {
  const auto microbatches = static_cast<double>(facts.microbatches), tokens = static_cast<double>(facts.valid_tokens);
  std::vector<FactorCause> causes;
  const auto fits = [&](double value) {
    return std::isfinite(value) && value != 0 && value != 1 &&
           std::fabs(factor - value) <= tolerance * std::fabs(value);
  };
  const std::string count = std::to_string(facts.microbatches), tokens_text = std::to_string(facts.valid_tokens);
  if (fits(microbatches))
    causes.push_back({"not_scaled", count + " is the number of microbatches",
                      "gradients are summed over microbatches, and the loss was not scaled before the backward pass"});
  if (fits(tokens))
    causes.push_back({"not_normalised_by_tokens", tokens_text + " is the step's number of valid tokens",
                      "the loss is normalised by tokens where it is printed but not where it is differentiated"});
  if (fits(1 / microbatches))
    causes.push_back({"scaled_twice", "it is 1 / " + count + ", and " + count + " is the number of microbatches",
                      "the scale for microbatches was applied a second time"});
  if (fits(1 / tokens))
    causes.push_back({"normalised_twice", "it is 1 / " + tokens_text + ", the step's number of valid tokens",
                      "the normalisation by tokens was applied a second time"});
  if (fits(2)) causes.push_back({"counted_twice", "it is 2", "each contribution was added twice"});
  if (causes.empty())
    causes.push_back({"scaled", "it is neither the number of microbatches or tokens nor an inverse of these",
                      "an unintended scale"});
  return causes;
}

}  // namespace plumbline
