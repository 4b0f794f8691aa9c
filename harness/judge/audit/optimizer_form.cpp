// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/audit/optimizer_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "record/manifest.hpp"
#include "support/json_text.hpp"

namespace plumbline::auditing {
namespace {

template <typename Real>
Bounds exactly(Real value) {
  return {static_cast<double>(value), static_cast<double>(value)};
}

}  // namespace

std::string why_no_form(const Json& optimizer) {
  const std::string name = optimizer.value("name", "");
  if (name != "adamw" && name != "sgd") return "no formula is known for " + (name.empty() ? "it" : name);
  const Json implementation = optimizer.value("implementation", Json("fused"));
  if (implementation != "fused" && implementation != "foreach" && implementation != "single_tensor")
    return fmt::format("no formula is known for {} with implementation = {}", name, json_text(implementation));
  for (const char* key : optimizer_variants) {
    const Json value = optimizer.value(key, Json());
    const bool none = value.is_null() || value == Json(false) || value == Json(0) || value == Json(0.0);
    if (!none) return fmt::format("no formula is known for {} with {} = {}", name, key, json_text(value));
  }
  return "";
}

std::string why_not_recomputed(const Manifest& manifest) {
  const Json& optimizer = manifest.json.at("optimizer");
  if (const std::string why = why_no_form(optimizer); !why.empty()) return why;
  const std::string name = optimizer.value("name", "");
  if (manifest.dtype != "bfloat16") return "";
  const bool declared = optimizer.contains("implementation");
  if (!manifest.traits.own_formulas && name == "adamw" && !declared)
    return "the manifest does not say which form of adamw ran (optimizer.implementation: single_tensor, foreach, "
           "fused), and each rounds to bfloat16 at other places";
  if (name == "sgd" && declared && optimizer.at("implementation") == "fused")
    return "no formula is known for fused sgd in bfloat16";
  return "";
}

std::optional<OptimizerForm> optimizer_form(const Json& optimizer) {
  const std::string name = optimizer.value("name", "");
  if (!why_no_form(optimizer).empty()) return std::nullopt;
  OptimizerForm form;
  form.adamw = name == "adamw";
  form.weight_decay = optimizer.at("weight_decay").get<double>();
  form.decays_matrices_alone = optimizer.value("decay", Json("all")) == "matrices";
  form.fused = optimizer.value("implementation", Json("fused")) == "fused";
  if (form.adamw) {
    form.beta1 = optimizer.at("beta1").get<double>();
    form.beta2 = optimizer.at("beta2").get<double>();
    form.eps = optimizer.at("eps").get<double>();
  } else {
    form.momentum = optimizer.at("momentum").get<double>();
  }
  return form;
}

std::optional<OptimizerForm> optimizer_form(const Manifest& manifest) {
  auto form = optimizer_form(manifest.json.at("optimizer"));
  if (form)
    form->float32_betas =
        form->adamw && form->fused && manifest.device.starts_with("cuda") && manifest.dtype != "float64";
  return form;
}

OptimizerForm form_for(const OptimizerForm& form, const Shape& shape) {
  OptimizerForm own = form;
  if (form.decays_matrices_alone && shape.size() < 2) own.weight_decay = 0;
  return own;
}

template <typename Real>
StepForm<Real>::StepForm(const OptimizerForm& form, Storage storage, double rate, std::int64_t step)
    : form_(form),
      storage_(storage),
      first_(step == 0),
      beta1_(static_cast<Real>(form.scaling(form.beta1))),
      beta2_(static_cast<Real>(form.scaling(form.beta2))),
      eps_(static_cast<Real>(form.eps)),
      momentum_(static_cast<Real>(form.momentum)),
      decay_(static_cast<Real>(form.weight_decay)),
      rate_(static_cast<Real>(rate)),
      size_(rate_ / correction1_of(form, step)),
      correction2_(1 - std::pow(static_cast<Real>(form.beta2), static_cast<Real>(step + 1))),
      correction_roundings_(storage == Storage::float64 && form.adamw
                                ? (1 - correction1_of(form, step)) / correction1_of(form, step) +
                                      (1 - correction2_) / (2 * correction2_)
                                : 0) {}

/// 1 - beta1^t
template <typename Real>
Real StepForm<Real>::correction1_of(const OptimizerForm& form, std::int64_t step) {
  return 1 - std::pow(static_cast<Real>(form.beta1), static_cast<Real>(step + 1));
}

/// AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019) in its t-th step, t from 1:
///   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,
///   p = (1 - lr wd) p - lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps).
/// SGD as torch.optim has it, with dampening 0 and no Nesterov: d = g + wd p; b = d in the first step, then
/// momentum b + d; p = p - lr b.
template <typename Real>
Element<Real> StepForm<Real>::exact(const Element<Real>& before, Real gradient) const {
  if (!form_.adamw) {
    const Real direction = gradient + decay_ * before.parameter;
    const Real buffer = first_ ? direction : momentum_ * before.moment1 + direction;
    return {before.parameter - rate_ * buffer, buffer, 0};
  }
  const Real moment1 = beta1_ * before.moment1 + (1 - beta1_) * gradient;
  const Real moment2 = beta2_ * before.moment2 + (1 - beta2_) * gradient * gradient;
  const Real root = std::sqrt(moment2 / correction2_) + eps_;
  return {(1 - rate_ * decay_) * before.parameter - size_ * moment1 / root, moment1, moment2};
}

template <typename Real>
ElementBounds StepForm<Real>::bounds(const Element<Real>& before, Real gradient,
                                     std::optional<Element<Real>> recorded) const {
  if (!form_.adamw) return sgd_bounds(before, gradient, recorded);
  return form_.fused ? fused_adamw_bounds(before, gradient) : adamw_bounds(before, gradient, recorded);
}

/// Bounds of the stored value of a number between the two.
template <typename Real>
Bounds StepForm<Real>::stored(Real lowest, Real highest, Real magnitudes) const {
  return {bounds_of(storage_, Sum<Real>{lowest, magnitudes}).lowest,
          bounds_of(storage_, Sum<Real>{highest, magnitudes}).highest};
}

/// torch.optim's single_tensor and foreach: mul, lerp, mul, addcmul, sqrt, div, add, addcdiv, each of which stores its
/// result. Scalars are not rounded.
template <typename Real>
ElementBounds StepForm<Real>::adamw_bounds(const Element<Real>& before, Real gradient,
                                           std::optional<Element<Real>> recorded) const {
  ElementBounds after = fused_adamw_bounds(before, gradient);
  const auto low = [](const Bounds& bounds) { return static_cast<Real>(bounds.lowest); };
  const auto high = [](const Bounds& bounds) { return static_cast<Real>(bounds.highest); };
  const Real square = (1 - beta2_) * gradient * gradient, kept = beta2_ * before.moment2;
  const Bounds decayed2 = stored(kept, kept, kept);
  after.moment2 = stored(low(decayed2) + square, high(decayed2) + square, high(decayed2) + square);
  const Bounds moment1 = recorded ? exactly(recorded->moment1) : after.moment1;
  const Bounds moment2 = recorded ? exactly(recorded->moment2) : after.moment2;
  const Real most_root = std::sqrt(high(moment2)), correction = std::sqrt(correction2_);
  const Bounds root = stored(std::sqrt(std::max(low(moment2), Real{0})), most_root, most_root);
  const Bounds corrected =
      stored(low(root) / correction, high(root) / correction, high(root) / correction * (1 + correction_roundings_));
  const Bounds divisor = stored(low(corrected) + eps_, high(corrected) + eps_, high(corrected) + eps_);
  const Real factor = 1 - rate_ * decay_;
  const Bounds decayed = stored(factor * before.parameter, factor * before.parameter, std::abs(before.parameter));
  const auto [least, most] = std::minmax({size_ * low(moment1) / low(divisor), size_ * low(moment1) / high(divisor),
                                          size_ * high(moment1) / low(divisor), size_ * high(moment1) / high(divisor)});
  const Real update = std::max(std::abs(least), std::abs(most)) * (1 + correction_roundings_);
  after.parameter = stored(low(decayed) - most, high(decayed) - least, std::abs(before.parameter) + update);
  return after;
}

/// LibTorch computes beta^t and 1 - beta^t in double, whatever the dtype: in a float64 step a rounding of beta^t is one
/// of the difference, times beta^t / (1 - beta^t), 500 and more in the first steps. It writes m as m + (1 - beta1)(g -
/// m), whose terms are larger: those are the magnitudes here. In bfloat16 the parameter follows from unrounded moments.
template <typename Real>
ElementBounds StepForm<Real>::fused_adamw_bounds(const Element<Real>& before, Real gradient) const {
  const Element<Real> after = exact(before, gradient);
  const Real terms = std::abs(before.moment1) + (1 - beta1_) * (std::abs(gradient) + std::abs(before.moment1));
  const Real root = std::sqrt(after.moment2 / correction2_) + eps_;
  return {bounds_of(storage_, Sum<Real>{after.parameter, std::abs(before.parameter) +
                                                             size_ * terms / root * (1 + correction_roundings_)}),
          bounds_of(storage_, Sum<Real>{after.moment1, terms}),
          bounds_of(storage_, Sum<Real>{after.moment2, after.moment2})};
}

/// LibTorch rounds SGD's rate and decay to bfloat16 on CPUs, as any scalar factor of an added term, but not on GPUs:
/// both, and values between them, are admitted.
template <typename Real>
Bounds StepForm<Real>::factor(Real number) const {
  const double stored = rounded(storage_, number), as_it_is = static_cast<double>(number);
  return {std::min(stored, as_it_is), std::max(stored, as_it_is)};
}

/// Bounds of the stored value of one + factor x other, where all three are within bounds. LibTorch's code without an
/// instruction set (aten_capability DEFAULT) rounds the product before it adds, the others do not: both are admitted.
template <typename Real>
Bounds StepForm<Real>::add(const Bounds& one, const Bounds& factor, const Bounds& other) const {
  const auto product = [](double left, double right) { return static_cast<Real>(left) * static_cast<Real>(right); };
  const auto [lowest, highest] =
      std::minmax({product(factor.lowest, other.lowest), product(factor.lowest, other.highest),
                   product(factor.highest, other.lowest), product(factor.highest, other.highest)});
  const Real low = std::min(lowest, static_cast<Real>(rounded(storage_, lowest)));
  const Real high = std::max(highest, static_cast<Real>(rounded(storage_, highest)));
  const auto one_low = static_cast<Real>(one.lowest), one_high = static_cast<Real>(one.highest);
  const Real magnitudes = std::max(std::abs(one_low), std::abs(one_high)) + std::max(std::abs(low), std::abs(high));
  return stored(one_low + low, one_high + high, magnitudes);
}

/// Each operation stores its result, so that each rounds to bfloat16: bounds are propagated from one to the next. The
/// momentum is never rounded, because LibTorch gets it as a tensor.
template <typename Real>
ElementBounds StepForm<Real>::sgd_bounds(const Element<Real>& before, Real gradient,
                                         std::optional<Element<Real>> recorded) const {
  const Bounds parameter = exactly(before.parameter);
  Bounds direction = exactly(gradient);
  if (decay_ != 0) direction = add(direction, factor(decay_), parameter);
  ElementBounds after;
  if (momentum_ != 0) {
    if (!first_) {
      const Bounds kept = add(exactly(Real{0}), exactly(momentum_), exactly(before.moment1));
      direction = add(kept, exactly(Real{1}), direction);
    }
    after.moment1 = direction;
    if (recorded) direction = exactly(recorded->moment1);
  }
  after.parameter = add(parameter, factor(-rate_), direction);
  return after;
}

template class StepForm<double>;
template class StepForm<long double>;

}  // namespace plumbline::auditing
