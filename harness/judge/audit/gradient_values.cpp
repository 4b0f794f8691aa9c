// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/audit/norm_rounding.hpp"
#include "harness/judge/audit/number_format.hpp"
#include "harness/judge/audit/value_audit.hpp"
#include "support/numbers.hpp"

namespace plumbline::auditing {
namespace {

void audit_norm(const AuditedStep& audited, Dumps& dumps, Audit& audit) {
  const std::int64_t step = audited.step();
  long double squares = 0;
  double elements = 0;
  for (const auto& [rank, row] : gradients_once(audited.record())) {
    const SafetensorsEntry* tensor = dumps.find(rank, step, "gradient/" + row->name);
    if (!tensor) return;  // audit_rows_by_values reports it
    const std::vector<double> values = values_of(*tensor);
    for (const double value : values) squares += static_cast<long double>(value) * static_cast<long double>(value);
    elements += static_cast<double>(values.size());
  }
  double allowed = (elements + 2) * 0x1p-53;
  const auto by_rows = norm_by_rows(audited.record());
  if (by_rows && summed_by_rank(audited.manifest())) allowed = std::max(allowed, by_rows->limit);
  const auto norm = static_cast<double>(std::sqrt(squares));
  for (const auto& place : audited.steps()) {
    const auto& recorded = place.row->gradient_norm;
    if (place.rank > 0 || !recorded) continue;  // audit_step_rows checks that all ranks agree
    audit.count("numbers");
    if (std::abs(*recorded - norm) <= allowed * norm) continue;
    audit.findings.push_back(at_row(place, part::norm, "gradient_norm", to_text(norm), to_text(*recorded),
                                    "it is not the norm of the dumped gradients (a tied weight counted once)"));
  }
}

/// The sum by one addition: in float32 for bfloat16, then rounded.
double sum_of_uses(Storage storage, double one, double other) {
  if (storage == Storage::float64) return one + other;
  const auto sum = static_cast<double>(static_cast<float>(one) + static_cast<float>(other));
  return rounded(storage, sum);
}

class TiedWeight {
 public:
  TiedWeight(const AuditedStep& audited, Dumps& dumps, Audit& audit)
      : audited_(audited), dumps_(dumps), step_(audited.step()), audit_(audit) {}

  void weight(const std::vector<std::string>& names) {
    std::vector<std::vector<double>> uses;
    std::string dtype;
    for (const auto& name : names) {
      for (const RankRecord& rank : audited_.record().ranks) {
        const SafetensorsEntry* use = dumps_.find(rank.rank, step_, "gradient_use/" + name);
        if (!use) continue;
        uses.push_back(values_of(*use));
        dtype = use->dtype;
        break;
      }
    }
    if (uses.size() != names.size() || uses.size() != 2 || uses[0].size() != uses[1].size()) {
      audit_.count("tied_sums_missing");
      return;
    }
    for (const TensorPlace& place : audited_.tensors()) {
      if (place.row->kind != "gradient" || (place.row->name != names[0] && place.row->name != names[1])) continue;
      const SafetensorsEntry* sum = dumps_.find(place.rank, step_, "gradient/" + place.row->name);
      if (sum && sum->dtype == dtype) compare(place, storage_of(dtype), uses, values_of(*sum));
    }
  }

 private:
  void compare(const TensorPlace& place, Storage storage, const std::vector<std::vector<double>>& uses,
               const std::vector<double>& sums) {
    audit_.count("tied_sums");
    if (sums.size() != uses[0].size()) return;  // another shape: audit_rows_by_values reports it
    std::int64_t wrong = 0;
    std::size_t first = 0;
    const auto expected = [&](std::size_t i) { return sum_of_uses(storage, uses[0][i], uses[1][i]); };
    for (std::size_t i = 0; i < sums.size(); ++i)
      if (!same_bits(expected(i), sums[i]) && wrong++ == 0) first = i;
    if (wrong == 0) return;
    audit_.findings.push_back(at_tensor(
        place, fmt::format("gradient {}, element {}", place.row->name, first), to_text(expected(first)),
        to_text(sums[first]),
        fmt::format("it is not the sum of the tied weight's two uses in {} of {} elements", wrong, sums.size()),
        Dumps::name(place.rank, step_)));
  }

  const AuditedStep& audited_;
  Dumps& dumps_;
  std::int64_t step_;
  Audit& audit_;
};

}  // namespace

void audit_gradient_values(const AuditedStep& audited, Dumps& dumps, Audit& audit) {
  audit_norm(audited, dumps, audit);
  TiedWeight tied(audited, dumps, audit);
  for (const auto& names : audited.manifest().tied) tied.weight(names);
}

}  // namespace plumbline::auditing
