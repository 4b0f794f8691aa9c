// SPDX-License-Identifier: BSD-3-Clause
// Detection power of the recomputed optimiser steps: for each possible mistake, the number of elements whose wrong
// result would be rejected. A recomputation that accepts every mistake proves nothing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/audit/findings.hpp"
#include "harness/judge/audit/optimizer_form.hpp"

namespace plumbline::auditing {

/// A step's recorded numbers.
struct StepNumbers {
  std::int64_t step = 0;
  double rate = 0;
  std::optional<double> last_rate;  ///< rate of the previous step
  double coefficient = 1;
};

/// The mistakes, and the result of each for an element. Create one object per step.
template <typename Real>
class Mistakes {
 public:
  Mistakes(const OptimizerForm& form, Storage storage, const StepNumbers& numbers);

  /// Counts one element: `raw` is the gradient before clipping, `clipped` after it, `bounds` the admitted values.
  void weigh(const Element<Real>& before, Real raw, Real clipped, const ElementBounds& bounds);
  /// Adds the counts to a kind of parameter and resets them.
  void add_to(Power& power);

 private:
  struct Mistake {
    std::string name;
    bool possible = true;
    std::int64_t tells = 0;
  };
  bool shows(const Element<Real>& after, const ElementBounds& bounds) const;

  OptimizerForm form_;
  Storage storage_;
  StepForm<Real> right_, with_last_rate_, again_, without_decay_;
  std::array<Mistake, 6> mistakes_;
  std::int64_t elements_ = 0;
};

extern template class Mistakes<double>;
extern template class Mistakes<long double>;

/// "layers.*.mlp.up_proj.weight" for "model.layers.3.mlp.up_proj.weight": groups parameters of one kind.
std::string kind_of_parameter(const std::string& name);

/// The reason why a recomputation without findings proves nothing: a kind of parameter in which no mistake, or a
/// mistake that in no kind would be detected. Empty if each is detected somewhere.
std::vector<std::string> what_it_cannot_see(const Audit& audit);

}  // namespace plumbline::auditing
