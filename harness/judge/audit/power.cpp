// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/audit/power.hpp"

#include <fmt/format.h>

#include <cctype>

namespace plumbline::auditing {
namespace {

OptimizerForm without_decay(OptimizerForm form) {
  form.weight_decay = 0;
  return form;
}

}  // namespace

template <typename Real>
Mistakes<Real>::Mistakes(const OptimizerForm& form, Storage storage, const StepNumbers& numbers)
    : form_(form),
      storage_(storage),
      right_(form, storage, numbers.rate, numbers.step),
      with_last_rate_(form, storage, numbers.last_rate.value_or(numbers.rate), numbers.step),
      again_(form, storage, numbers.rate, numbers.step + 1),
      without_decay_(without_decay(form), storage, numbers.rate, numbers.step),
      mistakes_{{{"no update", true, 0},
                 {"the last step's rate", numbers.last_rate && *numbers.last_rate != numbers.rate, 0},
                 {"gradient not clipped", numbers.coefficient != 1, 0},
                 {"applied twice", true, 0},
                 {"moments exchanged", form.keeps_moment2(), 0},
                 {"no weight decay", form.weight_decay != 0, 0}}} {}

template <typename Real>
bool Mistakes<Real>::shows(const Element<Real>& after, const ElementBounds& bounds) const {
  const auto out = [&](Real value, const Bounds& admitted) { return !admitted.admit(rounded(storage_, value)); };
  return out(after.parameter, bounds.parameter) || (form_.keeps_moment1() && out(after.moment1, bounds.moment1)) ||
         (form_.keeps_moment2() && out(after.moment2, bounds.moment2));
}

template <typename Real>
void Mistakes<Real>::weigh(const Element<Real>& before, Real raw, Real clipped, const ElementBounds& bounds) {
  ++elements_;
  const auto weigh_one = [&](std::size_t mistake, auto made) {
    if (mistakes_[mistake].possible && shows(made(), bounds)) ++mistakes_[mistake].tells;
  };
  weigh_one(0, [&] { return before; });
  weigh_one(1, [&] { return with_last_rate_.exact(before, clipped); });
  weigh_one(2, [&] { return right_.exact(before, raw); });
  weigh_one(3, [&] { return again_.exact(right_.exact(before, clipped), clipped); });
  weigh_one(4, [&] {
    const Element<Real> made = right_.exact({before.parameter, before.moment2, before.moment1}, clipped);
    return Element<Real>{made.parameter, made.moment2, made.moment1};
  });
  weigh_one(5, [&] { return without_decay_.exact(before, clipped); });
}

template <typename Real>
void Mistakes<Real>::add_to(Power& power) {
  power.elements += elements_;
  elements_ = 0;
  for (Mistake& mistake : mistakes_) {
    if (mistake.possible) power.tells[mistake.name] += mistake.tells;
    mistake.tells = 0;
  }
}

template class Mistakes<double>;
template class Mistakes<long double>;

std::string kind_of_parameter(const std::string& name) {
  std::string kind;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool number = i > 0 && name[i - 1] == '.' && std::isdigit(static_cast<unsigned char>(name[i]));
    if (!number) {
      kind += name[i];
      continue;
    }
    while (i + 1 < name.size() && std::isdigit(static_cast<unsigned char>(name[i + 1]))) ++i;
    kind += '*';
  }
  return kind.starts_with("model.") ? kind.substr(6) : kind;
}

std::vector<std::string> what_it_cannot_see(const Audit& audit) {
  std::map<std::string, std::int64_t> by_mistake;
  std::vector<std::string> blind;
  for (const auto& [kind, power] : audit.power) {
    bool any = false;
    for (const auto& [mistake, tells] : power.tells) {
      by_mistake[mistake] += tells;
      any = any || tells > 0;
    }
    if (!any) blind.push_back("no mistake of the optimiser would be detected in " + kind);
  }
  for (const auto& [mistake, tells] : by_mistake) {
    if (tells == 0) blind.push_back(fmt::format("\"{}\" would be detected in no parameter", mistake));
  }
  return blind;
}

}  // namespace plumbline::auditing
