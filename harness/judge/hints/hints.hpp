// SPDX-License-Identifier: BSD-3-Clause
// Hints: what the rows of a step show of the cause of a difference that a check has found. They add words to a finding
// and cannot change an outcome.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "harness/judge/hints/factors.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

class Hints {
 public:
  /// Keeps what the first step in which gradients, losses or weights differ shows. `now`: a step of records that are
  /// compared in bits.
  void note(const StepEvidence& now);
  /// Explains the check's first divergence; empty if it cannot.
  std::string of(const CheckResult& result) const;

 private:
  /// The hint, and its step.
  template <class Words>
  struct Found {
    std::int64_t step = 0;
    Words words;
  };
  std::string of_gradient(const Finding& divergence) const;
  std::string of_loss(const Finding& divergence) const;

  std::optional<Found<GradientFactor>> factor_;
  std::optional<Found<std::map<std::string, std::string>>> tied_;  ///< by the parameter's name
  std::optional<Found<std::string>> loss_;
  std::optional<Found<std::map<std::int64_t, std::string>>> still_;  ///< by stage
};

}  // namespace plumbline::judging
