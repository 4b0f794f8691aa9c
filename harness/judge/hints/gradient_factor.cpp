// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/hints/gradient_factor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "harness/judge/hints/advice.hpp"
#include "harness/judge/hints/common_factor.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
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
  if (common && !manifest.clip_norm) {
    return GradientFactor{
        0, "the sizes of all agree, as where only roundings differ" + advice(manifest, Advice::own_norm)};
  }
  return GradientFactor{0, of_stages.empty() ? "" : of_stages + " differ"};
}

bool gradients_agree(const StepEvidence& now) {
  const std::vector<GradientPair> gradients = gradients_of(now);
  return !gradients.empty() && std::ranges::none_of(gradients, &GradientPair::differ);
}

}  // namespace plumbline::judging
