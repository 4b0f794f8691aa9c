// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/predicates/learning_rate_form.hpp"

#include <cmath>
#include <numbers>

namespace plumbline::predicates {

double LearningRateForm::at(std::int64_t step) const {
  const auto t = static_cast<double>(step), w = static_cast<double>(warmup_steps);
  if (step < warmup_steps) return peak * (start_factor + (1 - start_factor) * t / w);
  const double done = (t - w) / (static_cast<double>(total_steps) - w);
  const double half_cosine = (1 + std::cos(std::numbers::pi * done)) / 2;
  return peak * (final_factor + (1 - final_factor) * half_cosine);
}

std::optional<LearningRateForm> learning_rate_form(const Json& optimizer, const Json& schedule) {
  const auto number = [](const Json& json, const char* key) -> std::optional<double> {
    const auto found = json.find(key);
    return found != json.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
  };
  const auto peak = number(optimizer, "learning_rate"), warmup = number(schedule, "warmup_steps"),
             total = number(schedule, "total_steps"), start = number(schedule, "start_factor"),
             last = number(schedule, "final_factor");
  if (!peak || !warmup || !total || !start || !last) return std::nullopt;
  return LearningRateForm{*peak, static_cast<std::int64_t>(*warmup), static_cast<std::int64_t>(*total), *start, *last};
}

std::optional<LearningRateForm> learning_rate_form(const Manifest& manifest) {
  const auto found = manifest.json.find("learning_rate_schedule");
  if (found == manifest.json.end() || !found->is_object()) return std::nullopt;
  const auto form = learning_rate_form(manifest.json.at("optimizer"), *found);
  return form && (form->final_factor == 0 || manifest.conventions.exact_formulas) ? form : std::nullopt;
}

}  // namespace plumbline::predicates
