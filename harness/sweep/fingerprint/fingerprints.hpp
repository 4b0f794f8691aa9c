// SPDX-License-Identifier: BSD-3-Clause
// Which known mistake leaves such values: each pattern is looked for in the dumps of one step, and all that fit are
// named.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "harness/sweep/fingerprint/dumped_step.hpp"
#include "harness/sweep/fingerprint/step_facts.hpp"
#include "record/value_findings.hpp"
#include "record/verdict.hpp"

namespace plumbline {

/// One step of two runs.
struct DumpedRuns {
  const DumpedStep &reference, &candidate;
  const StepFacts& facts;
};

/// What crossed the cut at which the first difference lies: another microbatch's, changed on the way, narrowed, zero,
/// scaled, one bit.
std::vector<Fingerprint> crossing_fingerprints(const DumpedRuns& runs, const FirstDivergence& first);

/// Gradients of parameters: scaled alike, zero, one bit.
std::vector<Fingerprint> gradient_fingerprints(const DumpedRuns& runs);

/// The same where one microbatch is missing, counted twice, or all there is; nothing where the
/// reference did not dump what its gradients were after each microbatch.
std::vector<Fingerprint> microbatch_fingerprints(const DumpedRuns& runs);

/// Of the step of the first divergence, in the records' dumps; nothing where they have none of it. Throws InputError
/// for records and dumps that cannot be read.
std::optional<ValueFindings> find_fingerprints(const FirstDivergence& first, const std::filesystem::path& reference,
                                               const std::filesystem::path& candidate);

}  // namespace plumbline
