// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/hints/loss_factor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/judge/hints/common_factor.hpp"
#include "harness/judge/hints/gradient_factor.hpp"

namespace plumbline::judging {
namespace {

constexpr double loss_tolerance = 1e-6;  ///< several roundings of float32 losses

std::optional<float> loss_of(const RecordIndex& rows, std::int64_t microbatch) {
  for (const auto& placed : rows.microbatches(microbatch)) {
    if (placed.row->loss) return placed.row->loss;
  }
  return std::nullopt;
}

/// Of the microbatches whose losses are not both 0.
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
  const char* const advice =
      gradients_agree(now)
          ? "the gradients agree, so only the recorded losses are scaled otherwise: if a trainer divides its gradients "
            "after the backward pass (by microbatches or tokens), give record.loss the undivided loss in both runs, "
            "and "
            "Record(loss_scaling=\"after\")"
          : "record both losses before they are divided, or both after";
  return fmt::format("all losses of {} are {}; {}", step_words(now.step), factor_words(now, ratio, loss_tolerance),
                     advice);
}

}  // namespace plumbline::judging
