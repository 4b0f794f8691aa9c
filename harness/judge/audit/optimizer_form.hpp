// SPDX-License-Identifier: BSD-3-Clause
// An optimiser's step for one element, by the formulas of docs/exactness.md (7, Dtypes). Each formula exists twice:
// exactly, for the expected value, and with bounds, for the admitted values. Independent of the trainers' code and
// computed in wider numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/judge/audit/bounds.hpp"
#include "record/manifest.hpp"
#include "record/rows.hpp"
#include "support/json.hpp"

namespace plumbline::auditing {

struct OptimizerForm {
  bool adamw = false;  ///< else SGD
  double beta1 = 0, beta2 = 0, eps = 0;
  double momentum = 0;
  double weight_decay = 0;
  bool decays_matrices_alone = false;
  bool fused = true;  ///< AdamW in one kernel; else in several kernels, each of which stores its result
  /// The fused GPU kernel takes its betas in float32 (exactly for float64 tensors) and computes 1 - beta from that: for
  /// 0.999 the second moment is 1.3e-5 smaller. 1 - beta^t uses the exact beta on every device.
  bool float32_betas = false;

  /// `beta` as used for the moments.
  double scaling(double beta) const { return float32_betas ? static_cast<double>(static_cast<float>(beta)) : beta; }
  bool keeps_moment1() const { return adamw || momentum != 0; }
  bool keeps_moment2() const { return adamw; }
};
/// From a manifest's `optimizer`; nullopt for one that the record format does not name.
std::optional<OptimizerForm> optimizer_form(const Json& optimizer);
/// From a run's manifest, with its device and dtype.
std::optional<OptimizerForm> optimizer_form(const Manifest& manifest);
/// The reason for nullopt: another name, or a variant of a known one (Nesterov, parameter groups). Else empty.
std::string why_no_form(const Json& optimizer);
/// The same for a run, whose manifest may also lack the form of an optimiser that decides its rounding.
std::string why_not_recomputed(const Manifest& manifest);

/// Weight decay for a parameter of this shape: parameters of fewer than two dimensions (norms, biases) may be exempt.
OptimizerForm form_for(const OptimizerForm& form, const Shape& shape);

/// One element of a parameter and its moments; 0 for moments that the optimiser lacks.
template <typename Real>
struct Element {
  Real parameter = 0, moment1 = 0, moment2 = 0;
};

struct ElementBounds {
  Bounds parameter, moment1, moment2;
};

/// One step in a dtype. Real: double, or long double for float64.
template <typename Real>
class StepForm {
 public:
  /// `step` from 0.
  StepForm(const OptimizerForm& form, Storage storage, double rate, std::int64_t step);

  /// `gradient`: clipped.
  Element<Real> exact(const Element<Real>& before, Real gradient) const;
  /// `recorded`: moments after the step. If moments are stored before the parameter is computed, it must follow from
  /// them; without them the bounds of the moments apply.
  ElementBounds bounds(const Element<Real>& before, Real gradient, std::optional<Element<Real>> recorded) const;

 private:
  ElementBounds fused_adamw_bounds(const Element<Real>& before, Real gradient) const;
  ElementBounds adamw_bounds(const Element<Real>& before, Real gradient, std::optional<Element<Real>> recorded) const;
  ElementBounds sgd_bounds(const Element<Real>& before, Real gradient, std::optional<Element<Real>> recorded) const;
  static Real correction1_of(const OptimizerForm& form, std::int64_t step);
  Bounds factor(Real number) const;
  Bounds stored(Real lowest, Real highest, Real magnitudes) const;
  Bounds add(const Bounds& one, const Bounds& factor, const Bounds& other) const;

  OptimizerForm form_;
  Storage storage_;
  bool first_;
  Real beta1_, beta2_, eps_, momentum_, decay_, rate_;
  Real size_, correction2_;    ///< lr / (1 - beta1^t) and 1 - beta2^t of AdamW
  Real correction_roundings_;  ///< float64: additional roundings of an update beyond those of its terms
};

extern template class StepForm<double>;
extern template class StepForm<long double>;

}  // namespace plumbline::auditing
