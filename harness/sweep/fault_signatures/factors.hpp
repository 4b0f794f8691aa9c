// SPDX-License-Identifier: BSD-3-Clause
// Possible causes of a factor on gradients.
#pragma once

#include <string>
#include <vector>

#include "harness/sweep/fault_signatures/step_facts.hpp"

namespace plumbline {

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
