// SPDX-License-Identifier: BSD-3-Clause
// What a factor on gradients may come from.
#pragma once

#include <string>
#include <vector>

#include "harness/sweep/fingerprint/step_facts.hpp"

namespace plumbline {

struct FactorCause {
  std::string name;      ///< of the fingerprint
  std::string meaning;   ///< "8 is the number of microbatches"
  std::string suggests;  ///< the mistake
};

/// All that fit within `tolerance`; where none does, one that says so.
std::vector<FactorCause> causes_of_factor(double factor, double tolerance, const StepFacts& facts);

/// "8.000".
std::string factor_text(double factor);

}  // namespace plumbline
