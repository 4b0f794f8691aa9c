// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/fault_signatures/factors.hpp"

#include <cmath>
#include <cstdio>

namespace plumbline {

std::string factor_text(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, std::fabs(factor) >= 0.01 && std::fabs(factor) < 1e5 ? "%.4f" : "%.4g", factor);
  return text;
}

std::vector<FactorCause> causes_of_factor(double factor, double tolerance, const StepFacts& facts) {
  const auto microbatches = static_cast<double>(facts.microbatches), tokens = static_cast<double>(facts.valid_tokens);
  std::vector<FactorCause> causes;
  const auto fits = [&](double value) {
    return std::isfinite(value) && value != 0 && value != 1 &&
           std::fabs(factor - value) <= tolerance * std::fabs(value);
  };
  const std::string count = std::to_string(facts.microbatches), tokens_text = std::to_string(facts.valid_tokens);
  if (fits(microbatches))
    causes.push_back({"not_scaled", count + " is the number of microbatches",
                      "gradients are summed over microbatches, and the loss was not scaled before the backward pass"});
  if (fits(tokens))
    causes.push_back({"not_normalised_by_tokens", tokens_text + " is the step's number of valid tokens",
                      "the loss is normalised by tokens where it is printed but not where it is differentiated"});
  if (fits(1 / microbatches))
    causes.push_back({"scaled_twice", "it is 1 / " + count + ", and " + count + " is the number of microbatches",
                      "the scale for microbatches was applied a second time"});
  if (fits(1 / tokens))
    causes.push_back({"normalised_twice", "it is 1 / " + tokens_text + ", the step's number of valid tokens",
                      "the normalisation by tokens was applied a second time"});
  if (fits(2)) causes.push_back({"counted_twice", "it is 2", "each contribution was added twice"});
  if (causes.empty())
    causes.push_back({"scaled", "it is neither the number of microbatches or tokens nor an inverse of these",
                      "an unintended scale"});
  return causes;
}

}  // namespace plumbline
