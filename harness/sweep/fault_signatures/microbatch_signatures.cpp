// SPDX-License-Identifier: BSD-3-Clause
// Signatures of gradients in which a microbatch is missing, counted twice or the only one.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/sweep/fault_signatures/fault_signatures.hpp"
#include "harness/sweep/fault_signatures/relation.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

using Numbers = std::vector<double>;

double norm_of(const Numbers& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

Numbers difference(const Numbers& one, const Numbers& other) {
  Numbers values(one.size());
  std::ranges::transform(one, other, values.begin(), std::minus<>());
  return values;
}

/// Number of inspected elements per gradient: every microbatch is compared with every other, and each has a copy.
constexpr std::size_t most_elements = 4096;

/// Spread evenly over the tensor.
Numbers sample_of(const SafetensorsEntry& entry) {
  const Numbers all = numbers_of(entry);
  const std::size_t stride = (all.size() + most_elements - 1) / most_elements;
  Numbers some;
  for (std::size_t i = 0; i < all.size(); i += stride) some.push_back(all[i]);
  return some;
}

/// All differing gradients, concatenated, and the contribution of each microbatch.
struct Sums {
  Numbers expected, got;
  std::vector<Numbers> of;  ///< by microbatch
  std::int64_t parameters = 0;
  double tolerance = 0;  ///< relative, for sums rounded after each microbatch
};

void append(Numbers& to, const Numbers& values) {
  to.insert(to.end(), values.begin(), values.end());
}

/// nullopt if the reference did not dump them.
std::optional<Sums> sums_of(const DumpedRuns& runs) {
  const std::string prefix = "gradient/";
  Sums sums;
  sums.of.resize(static_cast<std::size_t>(runs.facts.microbatches));
  for (const auto& [key, tensor] : runs.candidate.tensors()) {
    if (!key.starts_with(prefix)) continue;
    const std::string name = key.substr(prefix.size());
    const DumpedTensor* expected = runs.reference.find(key);
    if (expected == nullptr || expected->entry.shape != tensor.entry.shape || tensor.equals(*expected)) continue;
    // A tied weight's gradient is the sum of two uses, which a microbatch's dumps have separately.
    if (runs.facts.is_tied(name)) continue;
    const Numbers right = sample_of(expected->entry);
    Numbers before(right.size(), 0);
    for (std::size_t m = 0; m < sums.of.size(); ++m) {
      const DumpedTensor* after = runs.reference.find("gradient_after/" + std::to_string(m) + "/" + name);
      if (after == nullptr) return std::nullopt;
      Numbers now = sample_of(after->entry);
      append(sums.of[m], runs.facts.sums_microbatches_apart ? now : difference(now, before));
      before = std::move(now);
    }
    append(sums.expected, right);
    append(sums.got, sample_of(tensor.entry));
    sums.tolerance = std::max(sums.tolerance, 10 * relation_tolerance(expected->entry.dtype));
    ++sums.parameters;
  }
  if (sums.parameters == 0) return std::nullopt;
  return sums;
}

/// |values - wanted| over |wanted|.
bool fits(const Numbers& values, const Numbers& wanted, double tolerance) {
  const double size = norm_of(wanted);
  return size > 0 && norm_of(difference(values, wanted)) <= tolerance * size;
}

std::string evidence_of(const Sums& sums, const Numbers& values, const Numbers& wanted) {
  return "residual " + factor_text(norm_of(difference(values, wanted)) / norm_of(wanted)) + " over " +
         quantity(sums.parameters, "gradient") + " with differences, at most " + std::to_string(most_elements) +
         " elements of each";
}

}  // namespace

std::vector<FaultSignature> microbatch_signatures(const DumpedRuns& runs) {
  if (runs.facts.microbatches < 2) return {};
  const auto sums = sums_of(runs);
  if (!sums) return {};
  std::vector<FaultSignature> found;
  const Numbers more = difference(sums->got, sums->expected), less = difference(sums->expected, sums->got);
  const auto number = [](std::size_t m) { return "microbatch " + std::to_string(m); };
  for (std::size_t m = 0; m < sums->of.size(); ++m) {
    const Numbers& own = sums->of[m];
    if (fits(sums->got, own, sums->tolerance)) {
      const bool last = m + 1 == sums->of.size();
      found.push_back({"one_microbatch_only",
                       "gradients come from " + number(m) + " alone" + (last ? ", the last one" : ""),
                       evidence_of(*sums, sums->got, own),
                       "gradients are overwritten instead of added up, or set to zero between microbatches"});
    }
    if (fits(more, own, sums->tolerance))
      found.push_back({"microbatch_twice", "gradients hold what " + number(m) + " adds twice",
                       evidence_of(*sums, more, own), "a backward pass, or its part for the weights, ran twice"});
    if (fits(less, own, sums->tolerance))
      found.push_back({"microbatch_missing", "gradients lack what " + number(m) + " adds",
                       evidence_of(*sums, less, own),
                       "a backward pass, or its part for the weights, did not run or was lost"});
  }
  return found;
}

}  // namespace plumbline
