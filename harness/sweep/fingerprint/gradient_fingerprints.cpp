// Gradients of parameters that are not the reference's.
#include <algorithm>
#include <cmath>
#include <set>

#include "harness/sweep/fingerprint/factors.hpp"
#include "harness/sweep/fingerprint/fingerprints.hpp"
#include "harness/sweep/fingerprint/tensor_patterns.hpp"
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

std::vector<GradientPair> that_differ(const std::vector<GradientPair>& pairs) {
  std::vector<GradientPair> differing;
  std::ranges::copy_if(pairs, std::back_inserter(differing), [](const GradientPair& p) { return !p.relation.equal; });
  return differing;
}

/// "stages 0-1", "stage 2", "stages 0, 2".
std::string stages_text(const std::set<std::int64_t>& stages) {
  const bool row = std::ssize(stages) == *stages.rbegin() - *stages.begin() + 1;
  if (stages.size() == 1) return "stage " + std::to_string(*stages.begin());
  if (row) return "stages " + std::to_string(*stages.begin()) + "-" + std::to_string(*stages.rbegin());
  std::vector<std::string> texts;
  for (const auto stage : stages) texts.push_back(std::to_string(stage));
  return "stages " + join(texts, ", ");
}

std::set<std::int64_t> stages_of(const std::vector<GradientPair>& pairs) {
  std::set<std::int64_t> stages;
  for (const GradientPair& pair : pairs) stages.insert(pair.stage);
  return stages;
}

std::string count_of(const std::vector<GradientPair>& some, const std::vector<GradientPair>& all) {
  return std::to_string(some.size()) + " of " + std::to_string(all.size()) + " gradients";
}

double tolerance_of(const GradientPair& pair) {
  return relation_tolerance(pair.expected->entry.dtype);
}

/// Whether every gradient is a multiple of the reference's by one factor; nothing where not.
std::optional<double> common_factor(const std::vector<GradientPair>& pairs) {
  std::optional<double> factor;
  for (const GradientPair& pair : pairs) {
    if (pair.relation.reference_zero && pair.relation.zero) continue;
    if (!factor) factor = pair.relation.ratio;
    if (!pair.relation.is_multiple(*factor, tolerance_of(pair))) return std::nullopt;
  }
  return factor;
}

double largest_residual(const std::vector<GradientPair>& pairs) {
  double largest = 0;
  for (const GradientPair& pair : pairs) largest = std::max(largest, pair.relation.residual);
  return largest;
}

std::vector<Fingerprint> scaled_alike(const std::vector<GradientPair>& wrong, const std::vector<GradientPair>& all,
                                      const StepFacts& facts) {
  const auto factor = common_factor(wrong);
  const double tolerance = 10 * tolerance_of(wrong.front());
  if (!factor || *factor == 0 || std::fabs(*factor - 1) <= tolerance) return {};
  std::vector<Fingerprint> found;
  for (const FactorCause& cause : causes_of_factor(*factor, tolerance, facts)) {
    found.push_back({cause.name,
                     "gradients of " + stages_text(stages_of(wrong)) + " are " + factor_text(*factor) +
                         " x the reference's; " + cause.meaning,
                     "ratio " + factor_text(*factor) + " in " + count_of(wrong, all) + ", largest residual " +
                         factor_text(largest_residual(wrong)),
                     cause.suggests});
  }
  return found;
}

/// r = q^(stages - 1 - stage) or q^(stages - stage), with the same q between any two stages.
std::optional<Fingerprint> scaled_by_stage(const std::vector<GradientPair>& all, const StepFacts& facts) {
  std::map<std::int64_t, std::vector<GradientPair>> by_stage;
  for (const GradientPair& pair : all) by_stage[pair.stage].push_back(pair);
  if (by_stage.size() < 2) return std::nullopt;
  std::map<std::int64_t, double> factors;
  for (const auto& [stage, pairs] : by_stage) {
    const auto factor = common_factor(pairs);
    if (!factor || *factor <= 0) return std::nullopt;
    factors[stage] = *factor;
  }
  const double tolerance = 10 * tolerance_of(all.front());
  std::optional<double> step;  // from a stage to the one above
  std::vector<std::string> texts;
  for (auto at = factors.begin(); at != factors.end(); ++at) {
    texts.push_back("stage " + std::to_string(at->first) + ": " + factor_text(at->second));
    const auto next = std::next(at);
    if (next == factors.end()) break;
    const double each = std::pow(at->second / next->second, 1.0 / static_cast<double>(next->first - at->first));
    if (!step) step = each;
    if (std::fabs(each - *step) > tolerance * *step) return std::nullopt;
  }
  if (!step || std::fabs(*step - 1) <= tolerance) return std::nullopt;
  const auto causes = causes_of_factor(*step, tolerance, facts);
  return Fingerprint{"scaled_at_each_stage",
                     "gradients grow or shrink by " + factor_text(*step) + " with every stage towards the first; " +
                         causes.front().meaning,
                     "ratios " + join(texts, ", "), "the scale is applied once at every stage and not once in all"};
}

std::optional<Fingerprint> all_zero(const std::vector<GradientPair>& wrong, const std::vector<GradientPair>& all) {
  std::vector<GradientPair> zero;
  std::ranges::copy_if(wrong, std::back_inserter(zero),
                       [](const GradientPair& p) { return p.relation.zero && !p.relation.reference_zero; });
  if (zero.empty()) return std::nullopt;
  return Fingerprint{"zero_gradients",
                     "gradients of " + stages_text(stages_of(zero)) + " are all zero, the reference's are not" +
                         (zero.size() == 1 ? " (" + zero.front().parameter + ")" : ""),
                     count_of(zero, all),
                     "the graph is detached, the parameter frozen, or the backward pass does not reach it"};
}

/// Only the tied weight's gradient differs.
std::optional<Fingerprint> tied_not_reduced(const std::vector<GradientPair>& wrong,
                                            const std::vector<GradientPair>& all, const DumpedRuns& runs) {
  if (!std::ranges::all_of(wrong, [&](const GradientPair& p) { return runs.facts.is_tied(p.parameter); }))
    return std::nullopt;
  std::string use;
  for (const GradientPair& pair : wrong) {
    for (const auto& [key, tensor] : runs.candidate.tensors()) {
      if (key.starts_with("gradient_use/") && tensor.equals(*pair.got))
        use = "; it equals in every bit what its use as " + key.substr(13) + " adds";
    }
    for (const auto& [key, tensor] : runs.reference.tensors()) {
      if (key.starts_with("gradient_use/") && tensor.equals(*pair.got))
        use = "; it equals in every bit what its use as " + key.substr(13) + " adds alone";
    }
  }
  const GradientPair& first = wrong.front();
  return Fingerprint{"tied_not_reduced", "only the gradient of the tied weight differs (" + first.parameter + ")",
                     count_of(wrong, all) + "; ratio " + factor_text(first.relation.ratio) + ", residual " +
                         factor_text(first.relation.residual) + use,
                     "the gradients of its two uses were not added up between the stages that hold it"};
}

/// What is left of the step before: gradient - reference's of this step, and the gradient of the step before.
struct Kept {
  std::vector<double> left, before;

  double share() const {
    double product = 0, square = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      product += left[i] * before[i];
      square += before[i] * before[i];
    }
    return square == 0 ? 0 : product / square;
  }
  double residual(double factor) const {
    double rest = 0, square = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      rest += (left[i] - factor * before[i]) * (left[i] - factor * before[i]);
      square += before[i] * before[i];
    }
    return square == 0 ? 0 : std::sqrt(rest / square);
  }
};

/// g = g0 of this step + c x g of the step before, c the same for all: 1, or what that step was clipped by.
std::optional<Fingerprint> not_zeroed(const std::vector<GradientPair>& wrong, const std::vector<GradientPair>& all,
                                      const DumpedRuns& runs) {
  if (runs.candidate_before.empty()) return std::nullopt;
  Kept kept;
  for (const GradientPair& pair : wrong) {
    const DumpedTensor* before = runs.candidate_before.find(std::string(gradient_prefix) + pair.parameter);
    if (before == nullptr) return std::nullopt;
    const auto earlier = numbers_of(before->entry), expected = numbers_of(pair.expected->entry),
               got = numbers_of(pair.got->entry);
    if (earlier.size() != got.size() || expected.size() != got.size())
      return std::nullopt;  // of another shape or dtype
    for (std::size_t i = 0; i < got.size(); ++i) {
      kept.left.push_back(got[i] - expected[i]);
      kept.before.push_back(earlier[i]);
    }
  }
  const double share = kept.share(), residual = kept.residual(share);
  if (!(share > 0) || share > 1 + 1e-6 || !(residual <= 100 * tolerance_of(wrong.front()) * share)) return std::nullopt;
  const bool whole = std::fabs(share - 1) <= 1e-6;
  return Fingerprint{"not_zeroed",
                     "gradients are this step's and " + (whole ? "" : factor_text(share) + " x ") +
                         "those of the step before, added up",
                     count_of(wrong, all) + ", residual " + factor_text(residual) +
                         (whole ? "" : "; a share below 1 is what the step before was clipped by"),
                     "gradients are not set to zero between steps"};
}

}  // namespace

std::vector<Fingerprint> gradient_fingerprints(const DumpedRuns& runs) {
  const auto all = gradient_pairs(runs);
  const auto wrong = that_differ(all);
  if (wrong.empty()) return {};
  std::vector<Fingerprint> found = scaled_alike(wrong, all, runs.facts);
  const auto take = [&](const std::optional<Fingerprint>& each) {
    if (each) found.push_back(*each);
  };
  if (found.empty()) take(scaled_by_stage(all, runs.facts));
  take(all_zero(wrong, all));
  take(tied_not_reduced(wrong, all, runs));
  take(not_zeroed(wrong, all, runs));
  if (wrong.size() == 1) {
    const GradientPair& only = wrong.front();
    take(few_elements("the gradient of " + only.parameter, only.expected->entry, only.got->entry));
  }
  const bool rounded =
      std::ranges::all_of(wrong, [](const GradientPair& p) { return p.relation.is_multiple(1, tolerance_of(p)); });
  if (found.empty() && rounded) {
    const GradientPair& worst =
        *std::ranges::max_element(wrong, {}, [](const GradientPair& p) { return p.relation.residual; });
    take(rounding("every gradient (" + count_of(wrong, all) + ")", worst.relation, tolerance_of(worst)));
  }
  return found;
}

}  // namespace plumbline
