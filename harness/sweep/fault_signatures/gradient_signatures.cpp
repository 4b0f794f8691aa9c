// SPDX-License-Identifier: BSD-3-Clause
// Signatures of parameter gradients that differ from the reference's.
#include <algorithm>
#include <cmath>
#include <set>

#include "harness/sweep/fault_signatures/fault_signatures.hpp"
#include "harness/sweep/fault_signatures/relation.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

constexpr std::string_view gradient_prefix = "gradient/";

struct GradientPair {
  std::string parameter;
  std::int64_t stage = 0;
  const DumpedTensor *expected, *got;
  Relation relation;
};

std::vector<GradientPair> gradient_pairs(const DumpedRuns& runs) {
  std::vector<GradientPair> pairs;
  for (const auto& [key, tensor] : runs.candidate.tensors()) {
    if (!key.starts_with(gradient_prefix)) continue;
    const DumpedTensor* expected = runs.reference.find(key);
    if (expected == nullptr) continue;
    const std::string name = key.substr(gradient_prefix.size());
    const auto stage = runs.facts.stage_of.find(name);
    pairs.push_back({name, stage == runs.facts.stage_of.end() ? tensor.rank : stage->second, expected, &tensor,
                     relation_of(expected->entry, tensor.entry)});
  }
  return pairs;
}

/// "stages 0-1", "stage 2", "stages 0, 2".
std::string stages_text(const std::vector<GradientPair>& pairs) {
  std::set<std::int64_t> stages;
  for (const GradientPair& pair : pairs) stages.insert(pair.stage);
  const auto first = *stages.begin(), last = *stages.rbegin();
  if (first == last) return "stage " + std::to_string(first);
  if (std::ssize(stages) == last - first + 1) return "stages " + std::to_string(first) + "-" + std::to_string(last);
  return "stages " + join(std::vector<std::int64_t>(stages.begin(), stages.end()), ", ");
}

std::string count_of(const std::vector<GradientPair>& some, const std::vector<GradientPair>& all) {
  return std::to_string(some.size()) + " of " + std::to_string(all.size()) + " gradients";
}

double tolerance_of(const GradientPair& pair) {
  return relation_tolerance(pair.expected->entry.dtype);
}

/// The common factor of all gradients relative to the reference's; nullopt if there is none.
std::optional<double> common_factor(const std::vector<GradientPair>& pairs) {
  std::optional<double> factor;
  for (const GradientPair& pair : pairs) {
    if (pair.relation.reference_zero && pair.relation.zero) continue;
    if (!factor) factor = pair.relation.ratio;
    if (!pair.relation.is_multiple(*factor, tolerance_of(pair))) return std::nullopt;
  }
  return factor;
}

const GradientPair& worst_of(const std::vector<GradientPair>& pairs) {
  return *std::ranges::max_element(pairs, {}, [](const GradientPair& pair) { return pair.relation.residual; });
}

std::vector<FaultSignature> scaled_alike(const std::vector<GradientPair>& wrong, const std::vector<GradientPair>& all,
                                         const StepFacts& facts) {
  const auto factor = common_factor(wrong);
  const double tolerance = 10 * tolerance_of(wrong.front());
  if (!factor || *factor == 0 || std::fabs(*factor - 1) <= tolerance) return {};
  std::vector<FaultSignature> found;
  for (const FactorCause& cause : causes_of_factor(*factor, tolerance, facts)) {
    found.push_back(
        {cause.name,
         "gradients of " + stages_text(wrong) + " are " + factor_text(*factor) + " x the reference's; " + cause.meaning,
         "ratio " + factor_text(*factor) + " in " + count_of(wrong, all) + ", largest residual " +
             factor_text(worst_of(wrong).relation.residual),
         cause.suggests});
  }
  return found;
}

std::optional<FaultSignature> all_zero(const std::vector<GradientPair>& wrong, const std::vector<GradientPair>& all) {
  std::vector<GradientPair> zero = wrong;
  std::erase_if(zero, [](const GradientPair& p) { return !p.relation.zero || p.relation.reference_zero; });
  if (zero.empty()) return std::nullopt;
  return FaultSignature{"zero_gradients",
                        "gradients of " + stages_text(zero) + " are all zero, the reference's are not" +
                            (zero.size() == 1 ? " (" + zero.front().parameter + ")" : ""),
                        count_of(zero, all),
                        "the graph is detached, the parameter frozen, or the backward pass does not reach it"};
}

}  // namespace

std::vector<FaultSignature> gradient_signatures(const DumpedRuns& runs) {
  const auto all = gradient_pairs(runs);
  auto wrong = all;
  std::erase_if(wrong, [](const GradientPair& p) { return p.relation.equal; });
  if (wrong.empty()) return {};
  std::vector<FaultSignature> found = scaled_alike(wrong, all, runs.facts);
  const auto take = [&](const std::optional<FaultSignature>& each) {
    if (each) found.push_back(*each);
  };
  take(all_zero(wrong, all));
  if (wrong.size() == 1) {
    const GradientPair& only = wrong.front();
    take(few_elements("the gradient of " + only.parameter, only.expected->entry, only.got->entry));
  }
  const bool rounded =
      std::ranges::all_of(wrong, [](const GradientPair& p) { return p.relation.is_multiple(1, tolerance_of(p)); });
  if (found.empty() && rounded) {
    const GradientPair& worst = worst_of(wrong);
    take(rounding("every gradient (" + count_of(wrong, all) + ")", worst.relation, tolerance_of(worst)));
  }
  return found;
}

}  // namespace plumbline
