// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "harness/sweep/fault_signatures/fault_signatures.hpp"
#include "harness/sweep/fault_signatures/relation.hpp"
#include "record/mesh.hpp"

namespace plumbline {
namespace {

/// The same mistake may show in boundary tensors and gradients: reports it once, with both.
std::vector<FaultSignature> merged(std::vector<FaultSignature> all) {
  std::vector<FaultSignature> kept;
  for (FaultSignature& each : all) {
    const auto same = std::ranges::find(kept, each.name, &FaultSignature::name);
    if (same == kept.end()) {
      kept.push_back(std::move(each));
    } else {
      same->evidence += "; " + each.words + " (" + each.evidence + ")";
    }
  }
  return kept;
}

std::string otherwise_words(const Relation& relation, const std::string& tensor) {
  std::string words = "no known mistake leaves these values";
  if (!relation.comparable) return words + ": the tensors of the first divergence cannot be compared by value";
  return words + ": " + tensor + " is " + factor_text(relation.ratio) + " x the reference's with a residual of " +
         factor_text(relation.residual) + ", " + std::to_string(relation.differing) + " of " +
         std::to_string(relation.elements) + " elements differ";
}

}  // namespace

std::optional<ValueFindings> find_fault_signatures(const Finding& first, const std::filesystem::path& reference_folder,
                                                   const std::filesystem::path& candidate_folder) {
  const auto reference = record_of_replica(reference_folder, first.replica);
  const auto candidate = record_of_replica(candidate_folder, first.replica);
  const DumpedStep alone(reference, first.step), piped(candidate, first.step);
  if (alone.empty() || piped.empty()) return std::nullopt;
  const StepFacts facts = step_facts(reference, candidate, first.step);
  const DumpedRuns runs{alone, piped, facts};
  ValueFindings findings;
  findings.step = first.step;
  Relation relation;
  const auto* expected = alone.with_digest(first.expected);
  const auto* got = piped.with_digest(first.got, first.rank);
  const bool both = expected != nullptr && got != nullptr;
  const std::string key = got != nullptr ? got->first : "";
  if (both) {
    findings.tensor = key;
    relation = relation_of(expected->second.entry, got->second.entry);
    findings.ulps = ulp_buckets(expected->second.entry, got->second.entry, findings.not_numbers);
  }
  std::vector<FaultSignature> found = boundary_signatures(runs, first);
  for (const FaultSignature& each : gradient_signatures(runs)) found.push_back(each);
  for (const FaultSignature& each : microbatch_signatures(runs)) found.push_back(each);
  if (found.empty() && both) {
    if (const auto few = few_elements(key, expected->second.entry, got->second.entry)) found.push_back(*few);
  }
  findings.fault_signatures = merged(std::move(found));
  if (findings.fault_signatures.empty()) findings.otherwise = otherwise_words(relation, key);
  return findings;
}

}  // namespace plumbline
