// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>

#include "harness/judge/audit/norm_rounding.hpp"
#include "harness/judge/audit/table_audit.hpp"
#include "support/numbers.hpp"

namespace plumbline::auditing {
namespace {

/// Recorded norms and l2 derive from the same values in double precision. The error of a sum of n squares is sqrt(n)
/// 2^-53 there: 3e-12 at 5e8 elements. A bound by the number of terms, 5e-8, is reached by no order of adding.
constexpr double allowed_share = 1e-10;

}  // namespace

void audit_norms_by_l2(const AuditedStep& audited, Audit& audit) {
  const bool own = audited.manifest().traits.own_formulas;
  if (!own && !audited.manifest().clip_norm) return;  // audit_record reports it
  const auto by_rows = norm_by_rows(audited.record());
  if (!by_rows) return;
  const double allowed = own ? allowed_share : by_rows->limit;
  if (allowed > widest_norm_limit) return;  // gradient_norm reports it
  for (const auto& place : audited.steps()) {
    const StepRow& row = *place.row;
    if (place.rank > 0 || !row.gradient_norm) continue;  // audit_step_rows checks that all ranks agree
    if (!std::isfinite(by_rows->norm) && !std::isfinite(*row.gradient_norm)) continue;  // reported as not finite
    audit.count("numbers");
    if (std::abs(*row.gradient_norm - by_rows->norm) <= allowed * by_rows->norm) continue;
    audit.findings.push_back(at_row(
        place, part::norm, "gradient_norm", to_text(by_rows->norm), to_text(*row.gradient_norm),
        "it is not the root of the sum of l2 squared over the gradients in tensors.csv (a tied weight counted once)"));
  }
}

}  // namespace plumbline::auditing
