// SPDX-License-Identifier: BSD-3-Clause
// Fault signatures: tests each known pattern on the dumps of one step and returns all that match.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "harness/sweep/fault_signatures/dumped_step.hpp"
#include "record/value_findings.hpp"
#include "record/verdict.hpp"

namespace plumbline {

/// Signatures of the boundary tensor of the first divergence: that of another microbatch, changed in transfer,
/// narrowed, zero, scaled, one bit.
std::vector<FaultSignature> boundary_signatures(const DumpedRuns& runs, const Finding& first);

/// Signatures of parameter gradients: a common factor, zero, one bit.
std::vector<FaultSignature> gradient_signatures(const DumpedRuns& runs);

/// Signatures of one microbatch that is missing, counted twice, or the only one; empty if the reference did not dump
/// its gradients after each microbatch.
std::vector<FaultSignature> microbatch_signatures(const DumpedRuns& runs);

/// Signatures in the step of the first divergence; empty if the records have no dumps of it. Throws InputError for
/// records and dumps that cannot be read.
std::optional<ValueFindings> find_fault_signatures(const Finding& first, const std::filesystem::path& reference,
                                                   const std::filesystem::path& candidate);

}  // namespace plumbline
