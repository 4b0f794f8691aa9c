// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/predicates/forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>

#include "harness/judge/facts/fact.hpp"
#include "support/elements.hpp"
#include "support/error.hpp"
#include "support/numbers.hpp"

namespace plumbline::judging {
namespace {

void compare(const std::string& column, std::int64_t expected, std::int64_t got, std::vector<CellDifference>& found) {
  if (expected != got) found.push_back({column, to_text(expected), to_text(got)});
}

}  // namespace

bool LossSum::admits(float whole) const {
  const double rounding = static_cast<double>(2 * microbatches_ + 1) * std::ldexp(1.0, -24) * std::abs(sum_);
  return std::abs(static_cast<double>(whole) - sum_) <= rounding;
}

std::optional<std::string> why_no_loss(float loss, std::int64_t valid_tokens) {
  if (loss < 0) return "a cross-entropy, which is never below 0";
  if (valid_tokens == 0 && loss != 0) return "0, without a valid token";
  return std::nullopt;
}

std::vector<CellDifference> differences_from_sum(const EvaluationRow& whole,
                                                 const std::vector<const EvaluationRow*>& microbatches) {
  LossSum loss;
  std::int64_t tokens = 0, valid_tokens = 0;
  for (const EvaluationRow* row : microbatches) {
    loss.add(row->loss);
    tokens += row->tokens;
    valid_tokens += row->valid_tokens;
  }
  std::vector<CellDifference> found;
  if (!loss.admits(whole.loss)) found.push_back({"loss", to_text(loss.sum()), to_text(whole.loss)});
  compare("tokens", tokens, whole.tokens, found);
  compare("valid_tokens", valid_tokens, whole.valid_tokens, found);
  return found;
}

std::vector<CellDifference> differences_of_data(const EvaluationRow& earlier, const EvaluationRow& now) {
  std::vector<CellDifference> found;
  if (earlier.data_digest != now.data_digest) found.push_back({"data_digest", earlier.data_digest, now.data_digest});
  compare("tokens", earlier.tokens, now.tokens, found);
  compare("valid_tokens", earlier.valid_tokens, now.valid_tokens, found);
  return found;
}

}  // namespace plumbline::judging

namespace plumbline::predicates {
namespace {

constexpr const char* embedding = "model.embed_tokens.weight";

/// Secondary names of tied weights: of each group all but the embedding's, or but the first one with a gradient.
std::set<std::string> other_names(const Record& record) {
  std::set<std::string> with_gradient, others;
  for (const RankRecord& rank : record.ranks) {
    for (const TensorRow& row : rank.tensors) {
      if (row.kind == "gradient") with_gradient.insert(row.name);
    }
  }
  for (const auto& names : record.manifest.tied) {
    const auto has = [&](const std::string& name) { return with_gradient.contains(name); };
    auto kept = std::ranges::find(names, embedding);
    if (kept == names.end() || !has(*kept)) kept = std::ranges::find_if(names, has);
    for (auto name = names.begin(); name != names.end(); ++name) {
      if (name != kept) others.insert(*name);
    }
  }
  return others;
}

/// Largest relative error of one rounding to `dtype`. float16 gradients are recorded, though no optimizer step in
/// float16 is recomputed.
double rounding_to(const std::string& dtype) {
  if (dtype == "float16") return 0x1p-11;
  return unit_roundoff(is_storage(dtype) ? storage_of(dtype) : Storage::float32);
}

}  // namespace

double norm_rounding(const NormTerms& terms) {
  // Roundings of a square count half in its root. The error of a blocked sum grows with the root of the number of
  // terms; the tensors' squares are added sequentially.
  const double accumulated = rounding_to(terms.dtype == "float64" ? "float64" : "float32");
  const double sums = (std::sqrt(terms.largest / 2) + terms.tensors / 2) * accumulated;
  const double of_tensor = 1 + 0.5, of_rank = 0.5, over_ranks = std::sqrt(terms.ranks - 1) / 2, in_all = 1;
  return sums + (of_tensor + of_rank + over_ranks + in_all) * rounding_to(terms.dtype);
}

bool summed_by_rank(const Manifest& manifest) {
  return manifest.norm_order == "per_rank" || (!manifest.conventions.exact_formulas && !manifest.clip_norm);
}

std::vector<GradientRow> gradients_once(const Record& record) {
  const std::set<std::string> again = other_names(record);
  std::vector<GradientRow> once;
  std::set<std::string> seen;
  for (const RankRecord& rank : record.ranks) {
    for (const TensorRow& row : rank.tensors) {
      if (row.kind != "gradient" || again.contains(row.name)) continue;
      if (seen.insert(row.name).second) once.push_back({rank.rank, &row});
    }
  }
  return once;
}

std::optional<NormByRows> norm_by_rows(const Record& record) {
  if (record.manifest.mesh && !record.manifest.mesh->parts.empty()) return std::nullopt;
  return norm_by_rows({&record});
}

std::optional<NormByRows> norm_by_rows(const std::vector<const Record*>& replicas) {
  // By name and part: a tensor that several places share counts once.
  std::map<std::pair<std::string, std::vector<std::int64_t>>, const TensorRow*> gradients;
  for (const Record* record : replicas) {
    if (!judging::recorded_throughout(*record, {"gradients"})) return std::nullopt;
    for (const GradientRow& gradient : gradients_once(*record)) {
      const auto& mesh = record->manifest.mesh;
      const std::string& name = gradient.row->name;
      gradients.emplace(std::pair(name, mesh ? mesh->part_at(mesh->replica, name) : std::vector<std::int64_t>()),
                        gradient.row);
    }
  }
  if (gradients.empty()) return std::nullopt;
  NormTerms terms;
  terms.tensors = static_cast<double>(gradients.size());
  terms.ranks = static_cast<double>(replicas.front()->manifest.world_size) * static_cast<double>(replicas.size());
  terms.dtype = gradients.begin()->second->dtype;
  long double squares = 0;
  for (const auto& [part, row] : gradients) {
    squares += static_cast<long double>(row->l2) * static_cast<long double>(row->l2);
    terms.largest = std::max(terms.largest, static_cast<double>(element_count(row->shape)));
    if (rounding_to(row->dtype) > rounding_to(terms.dtype)) terms.dtype = row->dtype;
  }
  return NormByRows{static_cast<double>(std::sqrt(squares)), norm_rounding(terms)};
}

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
