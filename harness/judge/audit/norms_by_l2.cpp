#include <cmath>

#include "harness/judge/audit/table_audit.hpp"
#include "support/numbers.hpp"

namespace plumbline::auditing {
namespace {

/// Sums of squares in fp64 are off by n 2^-53 at most, and so many elements no gradient has.
constexpr double allowed_share = 1e-10;

}  // namespace

void audit_norms_by_l2(const AuditedStep& audited, Audit& audit) {
  if (audited.external()) return;  // audit_record says so
  for (const RankRecord& rank : audited.record().ranks) {
    if (rank.rank > 0) break;  // all ranks have the same norm, which audit_step_rows demands
    for (std::size_t i = 0; i < rank.steps.size(); ++i) {
      const StepRow& row = rank.steps[i];
      const auto gradients = audited.gradients_once();
      if (!row.gradient_norm || gradients.empty()) continue;
      long double sum = 0;
      for (const TensorPlace& place : gradients) sum += static_cast<long double>(place.row->l2) * place.row->l2;
      const auto norm = static_cast<double>(std::sqrt(sum));
      if (!std::isfinite(norm) && !std::isfinite(*row.gradient_norm)) continue;  // told as not finite
      audit.count("numbers");
      if (std::abs(*row.gradient_norm - norm) <= allowed_share * norm) continue;
      const RowPlace place{row.step, rank.rank, "steps.csv", audited.rows_before(rank.rank).steps + i};
      audit.findings.push_back(
          at_row(place, Place::norm, "gradient_norm", to_text(norm), to_text(*row.gradient_norm),
                 "it is not the root of the sum of l2 squared over the gradients in tensors.csv, a tied weight once"));
    }
  }
}

}  // namespace plumbline::auditing
