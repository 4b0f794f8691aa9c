// Gradients that are the reference's, and what was made of them.
#include <algorithm>
#include <cmath>

#include "harness/sweep/fingerprint/factors.hpp"
#include "harness/sweep/fingerprint/fingerprints.hpp"
#include "harness/sweep/fingerprint/relation.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

bool near(double one, double other) {
  return std::fabs(one - other) <= 1e-6 * std::max(std::fabs(one), std::fabs(other));
}

bool gradients_equal(const DumpedRuns& runs) {
  std::int64_t compared = 0;
  for (const auto& [key, tensor] : runs.candidate.tensors()) {
    if (!key.starts_with("gradient/")) continue;
    const DumpedTensor* expected = runs.reference.find(key);
    if (expected == nullptr) continue;
    if (!tensor.equals(*expected)) return false;
    ++compared;
  }
  return compared > 0;
}

/// norm^2 - reference^2 is the square of the tied weight's own.
std::optional<Fingerprint> tied_counted_twice(const DumpedRuns& runs, double norm, double expected) {
  for (const auto& group : runs.facts.tied) {
    if (group.empty()) continue;
    const DumpedTensor* gradient = runs.candidate.find("gradient/" + group.front());
    if (gradient == nullptr) continue;
    double square = 0;
    for (const double each : numbers_of(gradient->entry)) square += each * each;
    if (square == 0 || !near(norm * norm, expected * expected + square)) continue;
    return Fingerprint{"tied_counted_twice", "gradients are right and their norm holds the tied weight twice",
                       "norm " + factor_text(norm) + ", the reference's " + factor_text(expected) + ", ratio " +
                           factor_text(norm / expected) + "; the squares differ by that of " + group.front(),
                       "both stages that hold the tied weight add it to the global norm"};
  }
  return std::nullopt;
}

std::vector<Fingerprint> norms(const DumpedRuns& runs) {
  std::vector<Fingerprint> found;
  if (!runs.facts.reference_norm) return found;
  const double expected = *runs.facts.reference_norm;
  std::vector<std::string> own;
  for (const auto& [rank, norm] : runs.facts.norms) {
    if (norm == expected) continue;
    const auto of_rank = runs.facts.own_norms.find(rank);
    if (of_rank != runs.facts.own_norms.end() && near(norm, of_rank->second))
      own.push_back("rank " + std::to_string(rank) + " has " + factor_text(norm));
    if (!found.empty()) continue;
    if (const auto twice = tied_counted_twice(runs, norm, expected)) found.push_back(*twice);
  }
  if (!own.empty())
    found.push_back({"norm_of_own_stage", "gradients are right, and the norm is that of a rank's own stage alone",
                     join(own, ", ") + "; the norm of all is " + factor_text(expected),
                     "the squares are not added up over the ranks of the pipeline"});
  return found;
}

/// Parameters that are what they were before the step, where the reference's moved.
std::optional<Fingerprint> not_updated(const DumpedRuns& runs) {
  std::vector<std::string> names;
  std::int64_t moved = 0;
  for (const auto& [key, tensor] : runs.candidate.tensors()) {
    if (!key.starts_with("parameter/")) continue;
    const DumpedTensor *before = runs.candidate_before.find(key), *expected = runs.reference.find(key),
                       *expected_before = runs.reference_before.find(key);
    if (before == nullptr || expected == nullptr || expected_before == nullptr) continue;
    if (expected->equals(*expected_before)) continue;
    ++moved;
    if (tensor.equals(*before)) names.push_back(key.substr(10));
  }
  if (names.empty()) return std::nullopt;
  return Fingerprint{
      "not_updated",
      "gradients are right, and " + names.front() +
          (names.size() > 1 ? " and " + std::to_string(names.size() - 1) + " more are" : " is") +
          " what it was before the step",
      std::to_string(names.size()) + " of " + std::to_string(moved) + " parameters that the reference moved",
      "they are frozen, missing from the optimiser, or the step was skipped on their rank"};
}

}  // namespace

std::vector<Fingerprint> update_fingerprints(const DumpedRuns& runs) {
  if (!gradients_equal(runs)) return {};
  std::vector<Fingerprint> found = norms(runs);
  if (const auto still = not_updated(runs)) found.push_back(*still);
  return found;
}

}  // namespace plumbline
