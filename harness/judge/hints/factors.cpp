// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "harness/judge/hints/hints.hpp"
#include "harness/judge/predicates/forms.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// Another order of summing float32 numbers changes l2 by less.
constexpr double size_rounding = 1e-5;

double factor_of(double ratio) {
  return ratio > 1 ? ratio : 1 / ratio;
}

/// "as many as microbatches, or as many as stages"; empty if the factor is none of the counts.
std::string counts_that_fit(const StepEvidence& now, double factor, double tolerance) {
  const Manifest& manifest = now.cell.candidate.manifest;
  double pipelines = 1, tensor = 1;  // with data of their own, and with the same
  for (const auto& axis : manifest.mesh ? manifest.mesh->axes : std::vector<MeshAxis>()) {
    if (axis.kind != "pipeline") (axis.kind == "tensor" ? tensor : pipelines) *= static_cast<double>(axis.size);
  }
  const auto microbatches = static_cast<double>(manifest.microbatches);
  double tokens = 0, valid = 0;  // of all replicas
  if (const auto& rows = now.reference_rows.steps(); !rows.empty()) {
    tokens = static_cast<double>(rows.front().row->tokens);
    valid = static_cast<double>(rows.front().row->valid_tokens);
  }
  const std::pair<const char*, double> counts[] = {
      {"as many as microbatches", microbatches},
      {"as many as valid tokens in the step", valid},
      {"as many as tokens in the step", tokens == valid ? 1 : tokens},
      {"tokens / valid tokens of the step", valid > 0 ? tokens / valid : 1},
      {"as many as stages", static_cast<double>(manifest.stages.size())},
      {"as many as parallel pipelines", pipelines},
      {"as many as tensor parallel ranks", tensor},
      {"as many as microbatches of all pipelines", pipelines > 1 ? pipelines * microbatches : 1}};
  std::vector<std::string> fitting;
  for (const auto& [words, count] : counts) {
    if (!near(count, 1, tolerance) && near(factor, count, tolerance)) fitting.emplace_back(words);
  }
  if (fitting.empty() && near(factor, 2, tolerance)) return "as if a sum were taken twice";
  return join(fitting, ", or ");
}

/// A whole number as such, others with seven digits.
std::string factor_text(double factor, double tolerance) {
  const double whole = std::round(factor);
  return fmt::format("{:.7g}", near(factor, whole, tolerance) ? whole : factor);
}

}  // namespace

bool near(double one, double other, double tolerance) {
  return std::abs(one / other - 1) <= tolerance;
}

std::string factor_words(const StepEvidence& now, double ratio, double tolerance) {
  const double factor = factor_of(ratio);
  const std::string text = factor_text(factor, tolerance), counts = counts_that_fit(now, factor, tolerance);
  return fmt::format("{} the reference's{}{}", ratio > 1 ? text + " times" : "1/" + text + " of",
                     counts.empty() ? "" : ": ", counts);
}

bool is_counted(const StepEvidence& now, double ratio, double tolerance) {
  return !counts_that_fit(now, factor_of(ratio), tolerance).empty();
}

namespace {

struct GradientPair {
  const TensorRow *theirs, *mine;
  bool differ() const { return theirs->digest != mine->digest; }
};

/// One name for all copies of a tied weight.
std::string first_name(const Manifest& manifest, const std::string& name) {
  for (const auto& names : manifest.tied) {
    if (std::ranges::find(names, name) != names.end()) return names.front();
  }
  return name;
}

/// The gradients that both records have; of the copies of a tied weight the first that differs, else the first.
std::vector<GradientPair> gradients_of(const StepEvidence& now) {
  std::vector<GradientPair> pairs;
  std::map<std::string, std::size_t> places;
  for (const auto& placed : now.candidate_rows.all_tensors()) {
    const TensorRow& mine = *placed.row;
    if (mine.kind != "gradient") continue;
    const auto& rows = now.reference_rows.tensors("gradient", mine.name);
    if (rows.empty()) continue;
    const GradientPair pair{rows.front().row, &mine};
    const auto [place, is_new] = places.try_emplace(first_name(now.cell.candidate.manifest, mine.name), pairs.size());
    if (is_new)
      pairs.push_back(pair);
    else if (pair.differ() && !pairs[place->second].differ())
      pairs[place->second] = pair;
  }
  return pairs;
}

double tolerance_of(const std::string& dtype) {
  return dtype == "bfloat16" ? 0x1p-8 : dtype == "float16" ? 0x1p-11 : 1e-6;
}

/// "in step 0 all gradients of stage 0, and none of stage 1,"; empty unless each stage differs in all or in none.
std::string stage_words(const StepEvidence& now, const std::vector<GradientPair>& gradients) {
  std::map<std::int64_t, std::set<bool>> stages;
  for (const GradientPair& pair : gradients) stages[pair.mine->stage].insert(pair.differ());
  std::vector<std::int64_t> all, none;
  for (const auto& [stage, differ] : stages) {
    if (differ.size() > 1) return "";
    (*differ.begin() ? all : none).push_back(stage);
  }
  if (all.empty() || none.empty()) return "";
  const auto words = [](const std::vector<std::int64_t>& numbers) {
    return (numbers.size() > 1 ? "stages " : "stage ") + join(numbers, ", ");
  };
  return fmt::format("in {} all gradients of {}, and none of {},", step_words(now.step), words(all), words(none));
}

}  // namespace

std::optional<GradientFactor> gradient_factor(const StepEvidence& now) {
  const std::vector<GradientPair> gradients = gradients_of(now);
  std::vector<double> ratios;
  double tolerance = 0;
  for (const GradientPair& pair : gradients) {
    if (!pair.differ()) continue;
    ratios.push_back(pair.mine->l2 / pair.theirs->l2);
    tolerance = std::max(tolerance, tolerance_of(pair.mine->dtype));
  }
  if (ratios.empty()) return std::nullopt;
  if (ratios.size() < 2) return GradientFactor{};  // of a single tensor its own size is reported
  const double ratio = ratios.front();
  const bool common = std::ranges::all_of(
      ratios, [&](double one) { return std::isfinite(one) && one > 0 && near(one, ratio, tolerance); });
  const std::string of_stages = stage_words(now, gradients);
  const Manifest& manifest = now.cell.candidate.manifest;
  if (common && !near(ratio, 1, tolerance)) {
    const std::string which = !of_stages.empty() ? of_stages
                              : ratios.size() == gradients.size()
                                  ? "all gradients of " + step_words(now.step)
                                  : "all gradients that differ in " + step_words(now.step);
    return GradientFactor{ratio, fmt::format("{} are {}", which, factor_words(now, ratio, tolerance))};
  }
  if (std::ranges::all_of(ratios, [&](double one) { return near(one, 1, std::max(tolerance, size_rounding)); })) {
    return GradientFactor{0, "the sizes of all agree, as where only roundings differ" +
                                 (manifest.clip_norm ? "" : advice(manifest, Advice::own_norm)) +
                                 (manifest.microbatches > 1 ? advice(manifest, Advice::order) : "")};
  }
  return GradientFactor{0, of_stages.empty() ? "" : of_stages + " differ"};
}

bool gradients_agree(const StepEvidence& now) {
  const std::vector<GradientPair> gradients = gradients_of(now);
  return !gradients.empty() && std::ranges::none_of(gradients, &GradientPair::differ);
}

namespace {

constexpr double loss_tolerance = 1e-6;  ///< several roundings of float32 losses

std::optional<float> loss_of(const RecordIndex& rows, std::int64_t microbatch) {
  for (const auto& placed : rows.microbatches(microbatch)) {
    if (placed.row->loss) return placed.row->loss;
  }
  return std::nullopt;
}

/// The ratio over microbatches whose losses are not both 0.
std::vector<double> ratios_of(const StepEvidence& now) {
  std::vector<double> ratios;
  for (std::int64_t m = now.cell.first_own(); m < now.cell.end_own(); ++m) {
    const auto theirs = loss_of(now.reference_rows, m), mine = loss_of(now.candidate_rows, m);
    if (theirs && mine && (*theirs != 0 || *mine != 0))
      ratios.push_back(static_cast<double>(*mine) / static_cast<double>(*theirs));
  }
  return ratios;
}

}  // namespace

std::optional<std::string> loss_factor_words(const StepEvidence& now) {
  const std::vector<double> ratios = ratios_of(now);
  if (ratios.empty()) return std::nullopt;
  const double ratio = ratios.front();
  const bool common = std::ranges::all_of(
      ratios, [&](double one) { return std::isfinite(one) && one > 0 && near(one, ratio, loss_tolerance); });
  if (!common || near(ratio, 1, loss_tolerance)) return std::nullopt;
  if (ratios.size() < 2 && !is_counted(now, ratio, loss_tolerance)) return std::nullopt;
  const char* const advice = gradients_agree(now)
                                 ? "the gradients agree, so only the recorded losses are scaled differently: if a "
                                   "trainer divides its gradients after the backward pass (by microbatches or tokens), "
                                   "pass the undivided loss to record.loss in both runs, and "
                                   "Record(loss_scaling=\"after\")"
                                 : "record both losses before they are divided, or both after";
  return fmt::format("all losses of {} are {}; {}", step_words(now.step), factor_words(now, ratio, loss_tolerance),
                     advice);
}

std::string other_norm_words(const Record& record, double norm) {
  for (const RankRecord& rank : record.ranks) {
    double squares = 0;
    for (const TensorRow& row : rank.tensors) squares += row.kind == "gradient" ? row.l2 * row.l2 : 0;
    if (record.ranks.size() > 1 && squares > 0 && near(norm, std::sqrt(squares), size_rounding))
      return fmt::format("; it is the norm of rank {}'s own gradients: add the squares of all ranks before the root",
                         rank.rank);
  }
  const std::string words = advice(record.manifest, Advice::other_norm);
  float largest = 0;
  for (const auto& gradient : predicates::gradients_once(record)) largest = std::max(largest, gradient.row->max_abs);
  return !words.empty() && largest > 0 && near(norm, largest) ? "; it is their largest element" + words : words;
}

}  // namespace plumbline::judging
