// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/judge/audit/clipping_form.hpp"
#include "harness/judge/audit/optimizer_form.hpp"
#include "harness/judge/audit/power.hpp"
#include "harness/judge/audit/value_audit.hpp"
#include "support/numbers.hpp"

namespace plumbline::auditing {
namespace {

/// The values of one parameter before and after a step.
struct Values {
  std::vector<double> parameter, moment1, moment2;
};

/// Rejected elements of one tensor; the first is reported.
struct Refused {
  std::int64_t number = 0;
  std::size_t first = 0;
  double got = 0;
  Bounds bounds;
  void look(std::size_t element, double value, const Bounds& admitted) {
    if (admitted.admit(value) || number++ > 0) return;
    first = element;
    got = value;
    bounds = admitted;
  }
};

class ParameterUpdate {
 public:
  ParameterUpdate(const AuditedStep& audited, Dumps& dumps, const OptimizerForm& form, const StepNumbers& numbers,
                  const TensorPlace& place, UpdatesSoFar& so_far, Audit& audit)
      : audited_(audited),
        dumps_(dumps),
        form_(form),
        numbers_(numbers),
        place_(place),
        so_far_(so_far),
        audit_(audit),
        step_before_(numbers.step == audited.record().first_step ? -1 : numbers.step - 1) {}

  void run() {
    for (const char* kind : moment_kinds) so_far_.moments = so_far_.moments || dumped(kind, step_before_);
    const SafetensorsEntry* gradient = dumped("gradient", numbers_.step);
    if (gradient && trainer_skipped_update()) {
      skipped();
      ++so_far_.without;
    } else if (gradient) {
      with_gradient(*gradient);
      so_far_.moments = true;
    } else {
      without_gradient();
      ++so_far_.without;
    }
  }

 private:
  static constexpr std::array moment_kinds = {"moment1", "moment2"};

  /// Result for an update.
  template <typename Real>
  struct Found {
    Refused parameter, moment1, moment2;
    Mistakes<Real> mistakes;
    bool follows() const { return parameter.number + moment1.number + moment2.number == 0; }
  };

  const SafetensorsEntry* dumped(const char* kind, std::int64_t step) {
    return dumps_.find(place_.rank, step, kind + ("/" + place_.row->name));
  }

  /// Empty if it was not dumped, or has another shape.
  std::vector<double> dumped_values(const char* kind, std::int64_t step) {
    const SafetensorsEntry* tensor = dumped(kind, step);
    if (!tensor || tensor->dtype != place_.row->dtype || tensor->shape != place_.row->shape) return {};
    return values_of(*tensor);
  }

  /// nullopt if one of them was not dumped, or shapes differ. Missing moments are 0.
  std::optional<Values> values(std::int64_t step, bool moments) {
    Values found{dumped_values("parameter", step), {}, {}};
    const std::size_t size = found.parameter.size();
    found.moment1 = form_.keeps_moment1() && moments ? dumped_values("moment1", step) : std::vector<double>(size, 0);
    found.moment2 = form_.keeps_moment2() && moments ? dumped_values("moment2", step) : std::vector<double>(size, 0);
    if (found.moment1.size() != size || found.moment2.size() != size) return std::nullopt;
    return found;
  }

  /// In a step of an external trainer without STEP, if the parameter is what it was.
  bool trainer_skipped_update() {
    const auto is_update = [](const ActionRow& row) { return row.action.ends_with("STEP"); };
    const auto& actions = audited_.record().ranks[static_cast<std::size_t>(place_.rank)].actions;
    if (!audited_.manifest().traits.may_lack || std::ranges::any_of(actions, is_update)) return false;
    const auto before = dumped_values("parameter", step_before_), after = dumped_values("parameter", numbers_.step);
    return before.size() == after.size() && difference(before, after).number == 0;
  }

  void skipped() {
    audit_.count("updated_elements", element_count(place_.row->shape));
    for (const char* kind : moment_kinds) {
      report(kind, difference(dumped_values(kind, step_before_), dumped_values(kind, numbers_.step)),
             "the trainer skipped the update of its parameter, but it changed");
    }
  }

  void without_gradient() {
    const auto before = dumped_values("parameter", step_before_), after = dumped_values("parameter", numbers_.step);
    if (after.empty() || before.size() != after.size()) return;  // audit_rows_by_values reports it
    audit_.count("updated_elements", static_cast<std::int64_t>(after.size()));
    const auto& frozen = audited_.manifest().frozen;
    const Refused moved = difference(before, after);
    // In an external trainer possibly a parameter that no loss of the step depends on, which its optimiser skips.
    const bool passed_over = audited_.manifest().traits.may_lack && moved.number == 0;
    if (!passed_over && std::find(frozen.begin(), frozen.end(), place_.row->name) == frozen.end()) {
      audit_.findings.push_back(at_tensor(place_, "parameter " + place_.row->name,
                                          "a gradient, or its name in `frozen`", "neither",
                                          "how it was updated is unknown"));
    }
    report("parameter", moved, "it is frozen, but changed");
    for (const char* kind : moment_kinds) {
      report(kind, difference(dumped_values(kind, step_before_), dumped_values(kind, numbers_.step)),
             "its parameter has no gradient in this step, but it changed");
    }
  }

  /// Number of changed elements; none if one side has no elements.
  static Refused difference(const std::vector<double>& before, const std::vector<double>& after) {
    Refused moved;
    for (std::size_t i = 0; i < after.size() && i < before.size(); ++i) {
      moved.look(i, after[i], {before[i], before[i]});
    }
    return moved;
  }

  void with_gradient(const SafetensorsEntry& gradient) {
    const auto before = values(step_before_, so_far_.moments), after = values(numbers_.step, true);
    const std::vector<double> raw = values_of(gradient);
    if (!before || !after) return audit_.count("updates_missing");
    if (raw.size() != after->parameter.size()) return;  // audit_rows_by_values reports it
    if (storage_of(place_.row->dtype) == Storage::float64) {
      elements<long double>(*before, raw, *after);
    } else {
      elements<double>(*before, raw, *after);
    }
  }

  template <typename Real>
  void elements(const Values& before, const std::vector<double>& raw, const Values& after) {
    Found<Real> found = update<Real>(before, raw, after, numbers_.step);
    if (!found.follows() && so_far_.without > 0)
      found = update<Real>(before, raw, after, numbers_.step - so_far_.without);
    audit_.count("updated_elements", static_cast<std::int64_t>(raw.size()));
    found.mistakes.add_to(audit_.power[kind_of_parameter(place_.row->name)]);
    const std::string from = "it does not follow from the values before the step, the clipped gradient and the rate " +
                             to_text(numbers_.rate);
    report("moment1", found.moment1, from);
    report("moment2", found.moment2, from);
    report("parameter", found.parameter, from);
  }

  /// `updates`: number of earlier updates.
  template <typename Real>
  Found<Real> update(const Values& before, const std::vector<double>& raw, const Values& after, std::int64_t updates) {
    const Storage storage = storage_of(place_.row->dtype);
    const StepForm<Real> step(form_, storage, numbers_.rate, updates);
    StepNumbers numbers = numbers_;
    numbers.step = updates;
    Found<Real> found{{}, {}, {}, {form_, storage, numbers}};
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const Element<Real> element{static_cast<Real>(before.parameter[i]), static_cast<Real>(before.moment1[i]),
                                  static_cast<Real>(before.moment2[i])};
      const auto gradient = static_cast<Real>(clipped(storage, raw[i], numbers_.coefficient));
      const Element<Real> recorded{0, static_cast<Real>(after.moment1[i]), static_cast<Real>(after.moment2[i])};
      const ElementBounds bounds = step.bounds(element, gradient, recorded);
      found.parameter.look(i, after.parameter[i], bounds.parameter);
      if (form_.keeps_moment1()) found.moment1.look(i, after.moment1[i], bounds.moment1);
      if (form_.keeps_moment2()) found.moment2.look(i, after.moment2[i], bounds.moment2);
      // If recorded moments were assumed to be correct, no mistake before them would show in the parameter.
      found.mistakes.weigh(element, static_cast<Real>(raw[i]), gradient,
                           form_.adamw && form_.fused ? bounds : step.bounds(element, gradient, std::nullopt));
    }
    return found;
  }

  void report(const std::string& kind, const Refused& refused, const std::string& why) {
    if (refused.number == 0) return;
    const std::string low = to_text(refused.bounds.lowest), high = to_text(refused.bounds.highest);
    const auto all = element_count(place_.row->shape);
    audit_.findings.push_back(at_tensor(place_, fmt::format("{} {}, element {}", kind, place_.row->name, refused.first),
                                        low == high ? low : fmt::format("{} to {}", low, high), to_text(refused.got),
                                        fmt::format("{}, in {} of {} elements", why, refused.number, all),
                                        Dumps::name(place_.rank, numbers_.step)));
  }

  const AuditedStep& audited_;
  Dumps& dumps_;
  const OptimizerForm& form_;
  const StepNumbers& numbers_;
  const TensorPlace& place_;
  UpdatesSoFar& so_far_;
  Audit& audit_;
  std::int64_t step_before_;
};

/// nullopt if the rank's row lacks one of them.
std::optional<StepNumbers> numbers_of(const AuditedStep& audited, const RankRecord& rank) {
  StepNumbers numbers;
  numbers.step = audited.step();
  for (const StepRow& row : audited.before()[static_cast<std::size_t>(rank.rank)].steps)
    numbers.last_rate = row.learning_rate;
  for (const StepRow& row : rank.steps) {
    std::optional<double> coefficient = row.clip_coefficient;
    if (!audited.manifest().clip_norm) coefficient = coefficient.value_or(1.0);  // optional in external records
    if (!row.learning_rate || !coefficient) continue;
    numbers.rate = *row.learning_rate;
    numbers.coefficient = *coefficient;
    return numbers;
  }
  return std::nullopt;
}

}  // namespace

void audit_updates(const AuditedStep& audited, Dumps& dumps, UpdatesByParameter& so_far, Audit& audit) {
  if (!why_not_recomputed(audited.manifest()).empty()) return;  // audit_record says so
  const auto form = optimizer_form(audited.manifest());
  for (const RankRecord& rank : audited.record().ranks) {
    const auto numbers = numbers_of(audited, rank);
    if (!numbers) continue;
    for (const TensorPlace& place : audited.tensors()) {
      if (place.rank != rank.rank || place.row->kind != "parameter") continue;
      const OptimizerForm own = form_for(*form, place.row->shape);
      UpdatesSoFar& updates = so_far[{rank.rank, place.row->stage, place.row->name}];
      ParameterUpdate(audited, dumps, own, *numbers, place, updates, audit).run();
    }
  }
}

}  // namespace plumbline::auditing
