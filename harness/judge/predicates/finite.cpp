// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cmath>

#include "harness/judge/expected/losses.hpp"
#include "harness/judge/facts/excuses.hpp"
#include "harness/judge/predicates/predicates.hpp"
#include "support/numbers.hpp"

namespace plumbline::predicates {
namespace {

template <class Row>
bool is_finite(const Placed<Row>& place, const char* level, const char* item, double value, Report& report) {
  if (std::isfinite(value)) return true;
  report.findings.push_back(at_row(place, level, item, "a finite number", to_text(value), "not finite"));
  return false;
}

}  // namespace

bool numbers_are_possible(const RecordStep& step, Report& report) {
  const bool cross_entropy = step.manifest().conventions.config_of_a_llama &&
                             judging::recorded_throughout(step.record(), {"inputs", "labels"});
  bool finite = true;
  const auto loss = [&](const auto& place, const char* level, float value) {
    if (!is_finite(place, level, "loss", static_cast<double>(value), report)) return void(finite = false);
    const auto impossible = cross_entropy ? judging::why_no_loss(value, place.row->valid_tokens) : std::nullopt;
    if (impossible)
      report.findings.push_back(
          at_row(place, level, "loss", *impossible, to_text(value), "no sum of cross-entropies is this"));
  };
  for (const auto& place : step.microbatches())
    if (place.row->loss) loss(place, part::loss, *place.row->loss);
  for (const auto& place : step.steps()) {
    if (place.row->loss) loss(place, part::loss, *place.row->loss);
    if (place.row->gradient_norm && place.row->updated != false)
      finite &= is_finite(place, part::norm, "gradient_norm", *place.row->gradient_norm, report);
  }
  for (const auto& place : step.evaluation()) loss(place, part::evaluation, place.row->loss);
  for (const auto& place : step.tensors()) {
    const TensorRow& row = *place.row;
    if (row.nan + row.inf == 0) continue;
    report.findings.push_back(
        at_tensor(place, "finite values", fmt::format("{} NaN and {} infinite", row.nan, row.inf), "not finite"));
    finite = false;
  }
  return finite;
}

}  // namespace plumbline::predicates
