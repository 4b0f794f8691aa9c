// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/predicates/forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "support/error.hpp"

namespace plumbline::predicates {

double clip_coefficient_of(double norm, std::optional<double> limit) {
  if (!limit) return 1;
  if (std::isnan(norm)) return norm;
  return norm > *limit ? *limit / norm : 1;
}

std::vector<double> right_coefficients(double norm, const Manifest& manifest) {
  if (!manifest.clip_norm || std::isnan(norm)) return {clip_coefficient_of(norm, manifest.clip_norm)};
  if (manifest.norm_order == "canonical" && manifest.clip_epsilon == 0)
    return {clip_coefficient_of(norm, manifest.clip_norm)};
  std::vector<Storage> computed = {Storage::float64, Storage::float32};
  if (is_storage(manifest.dtype)) computed.push_back(storage_of(manifest.dtype));
  std::vector<double> right;
  for (const Storage storage : computed) {
    const double sum = rounded(storage, norm + rounded(storage, manifest.clip_epsilon));
    for (const double limit :
         {*manifest.clip_norm, rounded(storage, *manifest.clip_norm)}) {  // torch rounds the limit, too
      right.push_back(std::min(1.0, rounded(storage, limit / sum)));
      right.push_back(std::min(1.0, rounded(storage, rounded(storage, 1 / sum) * limit)));
    }
  }
  return right;
}

double LearningRateForm::at(std::int64_t step) const {
  const auto t = static_cast<double>(step), w = static_cast<double>(warmup_steps);
  if (step < warmup_steps) return peak * (start_factor + (1 - start_factor) * t / w);
  const auto total = static_cast<double>(total_steps);
  if (curve == "constant" || (curve == "wsd" && step < total_steps - decay_steps)) return peak;
  const double done = (t - w) / (total - w);
  const double height = curve == "wsd"      ? (total - t) / static_cast<double>(decay_steps)
                        : curve == "linear" ? 1 - done
                                            : (1 + std::cos(std::numbers::pi * done)) / 2;
  return peak * (final_factor + (1 - final_factor) * height);
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
  const auto decay = number(schedule, "decay_steps");
  return LearningRateForm{.peak = *peak,
                          .warmup_steps = static_cast<std::int64_t>(*warmup),
                          .total_steps = static_cast<std::int64_t>(*total),
                          .start_factor = *start,
                          .final_factor = *last,
                          .curve = schedule.value("curve", "cosine"),
                          .decay_steps = static_cast<std::int64_t>(decay.value_or(0))};
}

std::optional<LearningRateForm> learning_rate_form(const Manifest& manifest) {
  const auto found = manifest.json.find("learning_rate_schedule");
  if (found == manifest.json.end() || !found->is_object()) return std::nullopt;
  const auto form = learning_rate_form(manifest.json.at("optimizer"), *found);
  return form && (form->final_factor == 0 || manifest.conventions.exact_formulas) ? form : std::nullopt;
}

namespace {

constexpr int bfloat16_digits = 8;
constexpr int bfloat16_smallest = -133;

/// Scales so that the last kept digit is the unit, rounds, and scales back: exact except for that rounding.
double rounded_to_bfloat16(double value) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;  // value = fraction x 2^exponent with a fraction from 0.5 to 1
  std::frexp(value, &exponent);
  const int last = std::max(exponent - bfloat16_digits, bfloat16_smallest);
  const double nearest = std::ldexp(std::nearbyint(std::ldexp(value, -last)), last);
  const double largest = std::ldexp(255.0, 120);
  return std::abs(nearest) > largest ? std::copysign(std::numeric_limits<double>::infinity(), value) : nearest;
}

}  // namespace

bool is_storage(const std::string& dtype) {
  return dtype == "float32" || dtype == "float64" || dtype == "bfloat16";
}

Storage storage_of(const std::string& dtype) {
  if (dtype == "float32") return Storage::float32;
  if (dtype == "float64") return Storage::float64;
  if (dtype == "bfloat16") return Storage::bfloat16;
  throw InputError(fmt::format("a tensor of dtype {} cannot be recomputed; float32, float64 and bfloat16 can", dtype));
}

double unit_roundoff(Storage storage) {
  return storage == Storage::float32 ? 0x1p-24 : storage == Storage::bfloat16 ? 0x1p-8 : 0x1p-53;
}

double rounded(Storage storage, double value) {
  if (storage == Storage::float32) return static_cast<double>(static_cast<float>(value));
  return storage == Storage::bfloat16 ? rounded_to_bfloat16(value) : value;
}

}  // namespace plumbline::predicates
