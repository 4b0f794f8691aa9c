// SPDX-License-Identifier: BSD-3-Clause
// Fault signatures of any tensor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/fault_signatures/dumped_step.hpp"
#include "harness/sweep/fault_signatures/relation.hpp"
#include "record/value_findings.hpp"

namespace plumbline {

/// A single differing element, possibly in a single bit.
std::optional<FaultSignature> few_elements(const std::string& what, const SafetensorsEntry& expected,
                                           const SafetensorsEntry& got);

/// Differences of the size of rounding, in more than one element.
std::optional<FaultSignature> rounding(const std::string& what, const Relation& relation, double tolerance);

struct FactorCause {
  std::string name;      ///< name of the fault signature
  std::string meaning;   ///< "8 is the number of microbatches"
  std::string suggests;  ///< the mistake
};

/// All causes that match within `tolerance`, or one entry that states that none does.
std::vector<FactorCause> causes_of_factor(double factor, double tolerance, const StepFacts& facts);

/// "8.000".
std::string factor_text(double factor);

}  // namespace plumbline
