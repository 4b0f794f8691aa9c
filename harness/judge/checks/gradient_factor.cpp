// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/checks/gradient_factor.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

constexpr double one_ratio = 1e-6;  ///< relative

bool near(double one, double other) {
  return std::abs(one / other - 1) <= one_ratio;
}

std::int64_t valid_tokens_of_step(const StepEvidence& now) {
  std::int64_t sum = 0;
  for (std::int64_t m = 0; m < now.cell.microbatches(); ++m) {
    if (const MicrobatchRow* row = now.reference_rows.microbatch(m)) sum += row->valid_tokens;
  }
  return sum;
}

/// "as many as microbatches"; empty for numbers by which trainers do not divide.
std::string counted_quantity(const StepEvidence& now, double factor) {
  const Manifest& manifest = now.cell.candidate.manifest;
  const std::int64_t pipelines = manifest.mesh ? std::ssize(manifest.mesh->replicas) : 1;
  const std::pair<const char*, std::int64_t> numbers[] = {
      {"microbatches", manifest.microbatches},
      {"valid tokens in the step", valid_tokens_of_step(now)},
      {"stages", std::ssize(manifest.stages)},
      {"parallel pipelines", pipelines},
      {"microbatches of all pipelines", pipelines > 1 ? pipelines * manifest.microbatches : 1}};
  std::vector<std::string> fitting;
  for (const auto& [name, number] : numbers) {
    if (number > 1 && near(factor, static_cast<double>(number))) fitting.emplace_back(name);
  }
  return fitting.empty() ? "" : ": as many as " + join(fitting, ", or as ");
}

/// Formats a whole number as such.
std::string factor_text(double factor) {
  const double whole = std::round(factor);
  return to_text(whole > 0 && near(factor, whole) ? whole : factor);
}

}  // namespace

std::optional<GradientFactor> gradient_factor(const StepEvidence& now) {
  GradientFactor found{now.step, 0, ""};
  std::int64_t same = 0, differing = 0;
  bool one = true;
  for (const auto& placed : now.candidate_rows.all_tensors()) {
    const TensorRow& mine = *placed.row;
    if (mine.kind != "gradient") continue;
    const auto& rows = now.reference_rows.tensors("gradient", mine.name);
    if (rows.empty()) continue;
    const TensorRow& theirs = *rows.front().row;
    if (theirs.digest == mine.digest) {
      ++same;
      continue;
    }
    ++differing;
    const double ratio = mine.l2 / theirs.l2;
    const bool usable = std::isfinite(ratio) && ratio > 0;
    if (differing == 1) found.ratio = ratio;
    one = one && usable && near(ratio, found.ratio);
  }
  if (differing == 0) return std::nullopt;
  const Manifest& manifest = now.cell.candidate.manifest;
  if (!one || differing < 2 || near(found.ratio, 1)) {  // for a single tensor its own size is reported
    if (one && differing > 1 && !manifest.traits.own && !manifest.clip_norm)
      found.words =
          "the sizes of all agree within 1e-6, as where only roundings differ; if the trainer clips by a norm of its "
          "own, give clip_norm= to Record, and call record.gradients() before clipping and then "
          "record.norm(total_norm)";
    found.ratio = 0;
    return found;
  }
  const bool larger = found.ratio > 1;
  const double factor = larger ? found.ratio : 1 / found.ratio;
  found.words =
      fmt::format("{} of {} are {}{}{} the reference's{}", same == 0 ? "all gradients" : "all gradients that differ",
                  step_words(now.step), larger ? "" : "1/", factor_text(factor), larger ? " times" : " of",
                  counted_quantity(now, factor));
  return found;
}

}  // namespace plumbline::judging
