// SPDX-License-Identifier: BSD-3-Clause
// What an optimiser's step has to make of one element, by the formulas of docs/exactness.md (7, Dtypes): one exact way
// for what a number would be, and one with bounds for what it may be. Written from that page, in numbers wider than the
// trainers'; nothing here is theirs.
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
  bool fused = true;  ///< AdamW in one kernel; else in several, each of which stores what it computes
  /// The fused kernel of a GPU takes its betas in float32 (of float64 tensors as they are) and computes 1 - beta of
  /// that: for 0.999 the second moment is 1.3e-5 smaller. 1 - beta^t is of the exact beta on every device.
  bool float32_betas = false;

  /// `beta` as it scales the moments.
  double scaling(double beta) const { return float32_betas ? static_cast<double>(static_cast<float>(beta)) : beta; }
  bool keeps_moment1() const { return adamw || momentum != 0; }
  bool keeps_moment2() const { return adamw; }
};
/// Of a manifest's `optimizer`; nothing for one that the record format does not name.
std::optional<OptimizerForm> optimizer_form(const Json& optimizer);
/// Of a run: on its device, in its dtype.
std::optional<OptimizerForm> optimizer_form(const Manifest& manifest);
/// Why it has none: another name, or a variant of a known one (Nesterov, groups with numbers of their own). Else empty.
std::string why_no_form(const Json& optimizer);
/// The same of a run: its manifest may also not say which form of an optimiser ran, where that decides what is rounded.
std::string why_not_recomputed(const Manifest& manifest);

/// What acts on a parameter of this shape: one of fewer than two dimensions, a norm's or a bias, may be left undecayed.
OptimizerForm form_for(const OptimizerForm& form, const Shape& shape);

/// One element of a parameter and its moments; 0 for those that the optimiser lacks.
template <typename Real>
struct Element {
  Real parameter = 0, moment1 = 0, moment2 = 0;
};

struct ElementBounds {
  Bounds parameter, moment1, moment2;
};

/// One step of a dtype. Real: double, and long double for float64.
template <typename Real>
class StepForm {
 public:
  /// `step` from 0.
  StepForm(const OptimizerForm& form, Storage storage, double rate, std::int64_t step);

  /// `gradient`: clipped.
  Element<Real> exact(const Element<Real>& before, Real gradient) const;
  /// `recorded`: moments after the step, from which the parameter has to follow where they are stored before it is
  /// computed; without them what they may be decides.
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
  Real correction_roundings_;  ///< of float64: by how much more an update is rounded than its terms are
};

extern template class StepForm<double>;
extern template class StepForm<long double>;

}  // namespace plumbline::auditing
