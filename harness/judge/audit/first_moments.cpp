// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/audit/bounds.hpp"
#include "harness/judge/audit/optimizer_form.hpp"
#include "harness/judge/audit/table_audit.hpp"
#include "support/numbers.hpp"

namespace plumbline::auditing {
namespace {

/// Relative error bound of a size, as a share of the sum of its terms.
double relative_error(Storage storage) {
  // Per element: the clipped gradient and the result are stored, the latter up to twice (SGD), in addition to the
  // roundings of the computation. `max_abs` is recorded in float32, and its square has twice its error.
  return roundings * unit_roundoff(computed_in(storage)) + 3 * unit_roundoff(storage) +
         4 * unit_roundoff(Storage::float32) + 1e-10;
}

class FirstMoments {
 public:
  FirstMoments(const AuditedStep& audited, const OptimizerForm& form, double coefficient, Audit& audit)
      : audited_(audited), form_(form), coefficient_(coefficient), audit_(audit) {}

  void moment(const TensorPlace& place) {
    const TensorRow& row = *place.row;
    const TensorRow* gradient = audited_.row_like("gradient", place);
    const TensorRow* parameter = audited_.before("parameter", place);
    if (!gradient || !parameter || gradient->nan + gradient->inf + row.nan + row.inf > 0) return;
    root_of_elements_ = std::sqrt(std::max(static_cast<double>(element_count(row.shape)), 1.0));
    storage_ = storage_of(row.dtype);
    if (row.kind == "moment1") {
      const double factor = form_.adamw ? 1 - form_.scaling(form_.beta1) : 1;
      const double decay = form_.adamw ? 0 : form_for(form_, row.shape).weight_decay;
      size(place, "l2", factor * coefficient_ * gradient->l2, decay * parameter->l2, row.l2);
      max_abs(place, factor * coefficient_ * static_cast<double>(gradient->max_abs),
              decay * static_cast<double>(parameter->max_abs));
    } else if (row.kind == "moment2") {
      const double largest = coefficient_ * static_cast<double>(gradient->max_abs);
      max_abs(place, (1 - form_.scaling(form_.beta2)) * largest * largest, 0);
    }
  }

 private:
  /// A float64 may be smaller than all numbers of the recorded float32, or larger.
  void max_abs(const TensorPlace& place, double expected, double unknown_part) {
    const auto got = static_cast<double>(place.row->max_abs);
    const bool both_overflow = std::isinf(got) && std::isinf(rounded(Storage::float32, expected));
    size(place, "max_abs", both_overflow ? got : expected, unknown_part, got, smallest(Storage::float32));
  }

  /// `unknown_part`: the size of a term whose direction the tables do not show.
  void size(const TensorPlace& place, const std::string& what, double expected, double unknown_part, double got,
            double recorded_error = 0) {
    audit_.count("numbers");
    const double tiny = root_of_elements_ * 4 * (smallest(storage_) + smallest(computed_in(storage_))) + recorded_error;
    // a square has twice the relative error
    const double error = unknown_part + 2 * relative_error(storage_) * (expected + unknown_part) + tiny;
    if (std::abs(got - expected) <= error) return;
    audit_.findings.push_back(
        at_tensor(place, fmt::format("{} of {} {}", what, place.row->kind, place.row->name),
                  to_text(expected) + (unknown_part > 0 ? " within " + to_text(unknown_part) : ""), to_text(got),
                  "after the first step it does not follow from the clipped gradient's"));
  }

  const AuditedStep& audited_;
  const OptimizerForm& form_;
  double coefficient_;
  Audit& audit_;
  double root_of_elements_ = 1;  ///< factor from an absolute error per element to that of an l2
  Storage storage_ = Storage::float32;
};

}  // namespace

void audit_first_moments(const AuditedStep& audited, Audit& audit) {
  if (audited.step() != 0 || !audited.manifest().traits.own_formulas)
    return;  // of an external record audit_record says so
  const auto form = optimizer_form(audited.manifest());
  if (!form) return;
  const auto& steps = audited.record().ranks.front().steps;
  if (steps.empty()) return;
  const auto& coefficient = steps.front().clip_coefficient;
  if (!coefficient || !std::isfinite(*coefficient)) return;
  FirstMoments moments(audited, *form, *coefficient, audit);
  for (const TensorPlace& place : audited.tensors()) moments.moment(place);
}

}  // namespace plumbline::auditing
