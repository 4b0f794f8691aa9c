#include <algorithm>

#include "harness/judge/audit/clipping_form.hpp"
#include "harness/judge/audit/optimizer_form.hpp"
#include "harness/judge/audit/power.hpp"
#include "harness/judge/audit/value_audit.hpp"
#include "support/numbers.hpp"

namespace plumbline::auditing {
namespace {

/// The values of one parameter that a step begins and ends with.
struct Values {
  std::vector<double> parameter, moment1, moment2;
};

/// Elements of one tensor that are not admitted; the first is told.
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
                  const TensorPlace& place, Audit& audit)
      : audited_(audited), dumps_(dumps), form_(form), numbers_(numbers), place_(place), audit_(audit) {}

  void run() {
    const bool first = numbers_.step == audited_.record().first_step;
    const SafetensorsEntry* gradient = dumps_.find(place_.rank, numbers_.step, "gradient/" + place_.row->name);
    const bool moments = gradient != nullptr;  // what has no gradient keeps none
    const auto before = values(first ? -1 : numbers_.step - 1, moments), after = values(numbers_.step, moments);
    if (!before || !after) return;  // what was not dumped audit_rows_by_values tells
    if (!gradient) return without_gradient(*before, *after);
    const std::vector<double> raw = values_of(*gradient);
    if (raw.size() != after->parameter.size()) return;  // so is another shape
    if (storage_of(place_.row->dtype) == Storage::float64) {
      elements<long double>(*before, raw, *after);
    } else {
      elements<double>(*before, raw, *after);
    }
  }

 private:
  /// Nothing where one of them was not dumped, or not in one shape. Moments begin at 0, but of a run that was gone on
  /// with.
  std::optional<Values> values(std::int64_t step, bool moments) {
    Values found;
    const bool has_moments = moments && (step >= 0 || audited_.record().first_step > 0);
    const auto read = [&](const char* kind, bool kept, std::vector<double>& values) {
      const SafetensorsEntry* tensor = kept ? dumps_.find(place_.rank, step, kind + ("/" + place_.row->name)) : nullptr;
      if (tensor && tensor->dtype == place_.row->dtype && tensor->shape == place_.row->shape)
        values = values_of(*tensor);
    };
    read("parameter", true, found.parameter);
    read("moment1", form_.keeps_moment1() && has_moments, found.moment1);
    read("moment2", form_.keeps_moment2() && has_moments, found.moment2);
    const std::size_t size = found.parameter.size();
    if (found.moment1.empty() && (!has_moments || !form_.keeps_moment1())) found.moment1.assign(size, 0);
    if (found.moment2.empty() && (!has_moments || !form_.keeps_moment2())) found.moment2.assign(size, 0);
    if (found.moment1.size() != size || found.moment2.size() != size) return std::nullopt;
    return found;
  }

  void without_gradient(const Values& before, const Values& after) {
    const auto& frozen = audited_.manifest().frozen;
    Refused moved;
    for (std::size_t i = 0; i < after.parameter.size(); ++i) {
      moved.look(i, after.parameter[i], {before.parameter[i], before.parameter[i]});
    }
    audit_.count("updated_elements", static_cast<std::int64_t>(after.parameter.size()));
    // Of another trainer it may be one that no loss of the step depends on, which its optimiser passes over.
    const bool passed_over = audited_.manifest().role == "external" && moved.number == 0;
    if (!passed_over && std::find(frozen.begin(), frozen.end(), place_.row->name) == frozen.end()) {
      Finding finding = at_tensor(place_, "parameter " + place_.row->name);
      finding.expected = "a gradient, or its name in `frozen`";
      finding.got = "neither";
      finding.why = "nothing says how it was updated";
      audit_.findings.push_back(std::move(finding));
    }
    report("parameter", moved, "it is frozen, and moved");
  }

  template <typename Real>
  void elements(const Values& before, const std::vector<double>& raw, const Values& after) {
    const Storage storage = storage_of(place_.row->dtype);
    const StepForm<Real> step(form_, storage, numbers_.rate, numbers_.step);
    Mistakes<Real> mistakes(form_, storage, numbers_);
    Refused parameter, moment1, moment2;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const Element<Real> element{static_cast<Real>(before.parameter[i]), static_cast<Real>(before.moment1[i]),
                                  static_cast<Real>(before.moment2[i])};
      const auto gradient = static_cast<Real>(clipped(storage, raw[i], numbers_.coefficient));
      const ElementBounds bounds = step.bounds(element, gradient, after.moment1[i]);
      parameter.look(i, after.parameter[i], bounds.parameter);
      if (form_.keeps_moment1()) moment1.look(i, after.moment1[i], bounds.moment1);
      if (form_.keeps_moment2()) moment2.look(i, after.moment2[i], bounds.moment2);
      // With SGD's recorded buffer taken for granted no mistake before it would show in the parameter.
      mistakes.weigh(element, static_cast<Real>(raw[i]), gradient,
                     form_.adamw ? bounds : step.bounds(element, gradient, std::nullopt));
    }
    audit_.count("updated_elements", static_cast<std::int64_t>(raw.size()));
    mistakes.add_to(audit_.power[kind_of_parameter(place_.row->name)]);
    const std::string from = "it does not follow from the values before the step, the clipped gradient and the rate " +
                             to_text(numbers_.rate);
    report("moment1", moment1, from);
    report("moment2", moment2, from);
    report("parameter", parameter, from);
  }

  void report(const std::string& kind, const Refused& refused, const std::string& why) {
    if (refused.number == 0) return;
    Finding finding;
    finding.place = Place::parameter;
    finding.file = Dumps::name(place_.rank, numbers_.step);
    finding.step = numbers_.step;
    finding.rank = place_.rank;
    finding.stage = place_.row->stage;
    finding.item = kind + " " + place_.row->name + ", element " + std::to_string(refused.first);
    const std::string low = to_text(refused.bounds.lowest), high = to_text(refused.bounds.highest);
    finding.expected = low == high ? low : low + " to " + high;
    finding.got = to_text(refused.got);
    std::int64_t all = 1;
    for (const auto size : place_.row->shape) all *= size;
    finding.why = why + ", in " + std::to_string(refused.number) + " of " + std::to_string(all) + " elements";
    audit_.findings.push_back(std::move(finding));
  }

  const AuditedStep& audited_;
  Dumps& dumps_;
  const OptimizerForm& form_;
  const StepNumbers& numbers_;
  const TensorPlace& place_;
  Audit& audit_;
};

/// Nothing where the rank's row lacks one of them.
std::optional<StepNumbers> numbers_of(const AuditedStep& audited, const RankRecord& rank) {
  StepNumbers numbers;
  numbers.step = audited.step();
  for (const StepRow& row : audited.before()[static_cast<std::size_t>(rank.rank)].steps)
    numbers.last_rate = row.learning_rate;
  for (const StepRow& row : rank.steps) {
    std::optional<double> coefficient = row.clip_coefficient;
    if (!audited.manifest().clip_norm)
      coefficient = coefficient.value_or(1.0);  // which an external record may leave out
    if (!row.learning_rate || !coefficient) continue;
    numbers.rate = *row.learning_rate;
    numbers.coefficient = *coefficient;
    return numbers;
  }
  return std::nullopt;
}

}  // namespace

void audit_updates(const AuditedStep& audited, Dumps& dumps, Audit& audit) {
  const auto form = optimizer_form(audited.manifest().json.at("optimizer"));
  if (!form) return;  // audit_record says so
  for (const RankRecord& rank : audited.record().ranks) {
    const auto numbers = numbers_of(audited, rank);
    if (!numbers) continue;
    for (const TensorPlace& place : audited.tensors()) {
      if (place.rank != rank.rank || place.row->kind != "parameter") continue;
      const OptimizerForm own = form_for(*form, place.row->shape);
      ParameterUpdate(audited, dumps, own, *numbers, place, audit).run();
    }
  }
}

}  // namespace plumbline::auditing
