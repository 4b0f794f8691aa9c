#include "harness/judge/audit/learning_rate_form.hpp"

#include <cmath>
#include <numbers>

namespace plumbline::auditing {

double LearningRateForm::at(std::int64_t step) const {
  const auto t = static_cast<double>(step), w = static_cast<double>(warmup_steps);
  if (step < warmup_steps) return peak * (start_factor + (1 - start_factor) * t / w);
  const double done = (t - w) / (static_cast<double>(total_steps) - w);
  return peak * (1 + std::cos(std::numbers::pi * done)) / 2;
}

std::optional<LearningRateForm> learning_rate_form(const Json& manifest) {
  const auto found = manifest.find("learning_rate_schedule");
  if (found == manifest.end() || !found->is_object()) return std::nullopt;
  const Json& schedule = *found;
  LearningRateForm form;
  for (const char* key : {"warmup_steps", "start_factor", "final_factor", "total_steps"}) {
    if (!schedule.contains(key) || !schedule.at(key).is_number()) return std::nullopt;
  }
  if (schedule.at("final_factor").get<double>() != 0) return std::nullopt;
  form.peak = manifest.at("optimizer").at("learning_rate").get<double>();
  form.warmup_steps = schedule.at("warmup_steps").get<std::int64_t>();
  form.total_steps = schedule.at("total_steps").get<std::int64_t>();
  form.start_factor = schedule.at("start_factor").get<double>();
  return form;
}

}  // namespace plumbline::auditing
