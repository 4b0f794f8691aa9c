// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/hints/common_factor.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "support/text.hpp"

namespace plumbline::judging {
namespace {

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
  if (fitting.empty() && near(factor, 2, tolerance)) return "as where a sum is taken twice";
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

}  // namespace plumbline::judging
