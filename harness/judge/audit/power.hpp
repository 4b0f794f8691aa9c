// SPDX-License-Identifier: BSD-3-Clause
// What the audit of an optimiser's step could see: mistakes that a step can make, and for how many elements what each
// leaves would not be admitted. An audit that would admit every mistake shows nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/audit/findings.hpp"
#include "harness/judge/audit/optimizer_form.hpp"

namespace plumbline::auditing {

/// A step's numbers as the record has them.
struct StepNumbers {
  std::int64_t step = 0;
  double rate = 0;
  std::optional<double> last_rate;  ///< of the step before
  double coefficient = 1;
};

/// The mistakes, and what each makes of an element. One object for one step.
template <typename Real>
class Mistakes {
 public:
  Mistakes(const OptimizerForm& form, Storage storage, const StepNumbers& numbers);

  /// Counts for one element: `raw` is the gradient before clipping, `clipped` after it, `bounds` what is admitted.
  void weigh(const Element<Real>& before, Real raw, Real clipped, const ElementBounds& bounds);
  /// Adds what was counted to a kind of parameter, and begins again from 0.
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

/// "layers.*.mlp.up_proj.weight" of "model.layers.3.mlp.up_proj.weight": parameters that are of one kind.
std::string kind_of_parameter(const std::string& name);

/// Why an audit that found nothing shows nothing: a kind of parameter in which no mistake would show, or a mistake that
/// would show in none. Empty where all is seen somewhere.
std::vector<std::string> what_it_cannot_see(const Audit& audit);

}  // namespace plumbline::auditing
