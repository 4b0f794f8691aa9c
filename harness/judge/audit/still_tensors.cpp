// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/judge/audit/bounds.hpp"
#include "harness/judge/audit/optimizer_form.hpp"
#include "harness/judge/audit/table_audit.hpp"
#include "harness/judge/expected/expected_model.hpp"
#include "support/numbers.hpp"

namespace plumbline::auditing {
namespace {

/// The largest change that can leave all bits unchanged, as a share of the sizes added: four times the rounding of one
/// update, so that findings are not due to rounding.
double kept_share(Storage storage) {
  return 4 * ((roundings + 3) * unit_roundoff(computed_in(storage)) + 3 * unit_roundoff(storage) +
              4 * unit_roundoff(Storage::float32) + 1e-10);
}

/// Lower bound of a tensor's change in the step by the tables, and the sizes of the terms.
struct Movement {
  double least = 0;
  double sizes = 0;
};

class StillTensors {
 public:
  StillTensors(const AuditedStep& audited, const OptimizerForm& form, const StepRow& step, Audit& audit)
      : audited_(audited), form_(form), step_(step), audit_(audit) {}

  void tensor(const TensorPlace& place) {
    const TensorRow& row = *place.row;
    const TensorRow* before = audited_.before(row.kind, place);
    const TensorRow* gradient = audited_.row_like("gradient", place);
    if (!before || !gradient || gradient->nan + gradient->inf + row.nan + row.inf > 0) return;
    const auto movement = movement_of(place, *before, *gradient);
    if (!movement) return;
    audit_.count("numbers");
    const Storage storage = storage_of(row.dtype);
    const auto elements = static_cast<double>(element_count(row.shape));
    const double tiny = std::sqrt(elements) * 4 * (smallest(storage) + smallest(computed_in(storage)));
    const double kept = kept_share(storage) * movement->sizes + tiny;
    if (before->digest != row.digest || !(movement->least > kept)) return;
    audit_.findings.push_back(
        at_tensor(place, fmt::format("{} {}", row.kind, row.name), "bits that differ from those after the step before",
                  "the same",
                  fmt::format("the step changes it by {} or more, and {} is the most that rounding may absorb",
                              to_text(movement->least), to_text(kept))));
  }

 private:
  std::optional<Movement> movement_of(const TensorPlace& place, const TensorRow& before, const TensorRow& gradient) {
    const double clipped = *step_.clip_coefficient * gradient.l2;
    const double largest = *step_.clip_coefficient * static_cast<double>(gradient.max_abs);
    const TensorRow* parameter = audited_.before("parameter", place);
    if (!parameter) return std::nullopt;
    const double decayed = form_for(form_, before.shape).weight_decay * parameter->l2;
    if (before.kind == "moment1" && form_.adamw)
      return moved((1 - form_.beta1) * clipped, (1 - form_.beta1) * before.l2, 0, before.l2);
    if (before.kind == "moment1") return moved(clipped, (1 - form_.momentum) * before.l2, decayed, before.l2);
    if (before.kind == "moment2") {
      const auto most = static_cast<double>(before.max_abs);
      return moved((1 - form_.beta2) * largest * largest, (1 - form_.beta2) * most, 0, most);
    }
    if (before.kind != "parameter") return std::nullopt;
    const double rate = *step_.learning_rate, direction = form_.adamw ? adamw(place) : sgd(place, clipped, decayed);
    const double unknown_part = form_.adamw ? decayed : 0;
    return moved(rate * direction, 0, rate * unknown_part, before.l2);
  }

  /// Lower bound by the triangle inequality; the direction of `unknown_part` is unknown.
  static Movement moved(double added, double taken, double unknown_part, double size) {
    return {std::abs(added - taken) - unknown_part, size + added + taken + unknown_part};
  }

  /// l2 of moment1 over the largest root.
  double adamw(const TensorPlace& place) const {
    const TensorRow *first = audited_.row_like("moment1", place), *second = audited_.row_like("moment2", place);
    if (!first || !second) return 0;
    const auto count = static_cast<double>(audited_.step() + 1);
    const double root =
        std::sqrt(static_cast<double>(second->max_abs) / (1 - std::pow(form_.beta2, count))) + form_.eps;
    return first->l2 / (1 - std::pow(form_.beta1, count)) / root;
  }

  double sgd(const TensorPlace& place, double clipped, double decayed) const {
    if (form_.momentum == 0) return std::max(0.0, clipped - decayed);
    const TensorRow* buffer = audited_.row_like("moment1", place);
    return buffer ? buffer->l2 : 0;
  }

  const AuditedStep& audited_;
  const OptimizerForm& form_;
  const StepRow& step_;
  Audit& audit_;
};

}  // namespace

void audit_still_tensors(const AuditedStep& audited, Audit& audit) {
  if (audited.step() < 0 || !audited.manifest().traits.own_formulas)
    return;  // an external trainer may compute l2 in any way
  const auto form = optimizer_form(audited.manifest());
  const auto& steps = audited.record().ranks.front().steps;
  if (!form || steps.empty()) return;
  const StepRow& step = steps.front();
  if (!step.learning_rate || !std::isfinite(step.clip_coefficient.value_or(NAN))) return;
  StillTensors still(audited, *form, step, audit);
  for (const TensorPlace& place : audited.tensors()) {
    if (place.row->kind != "gradient" && place.row->kind != "copy") still.tensor(place);
  }
}

}  // namespace plumbline::auditing
