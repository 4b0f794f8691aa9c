// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "harness/judge/audit/clipping_form.hpp"
#include "harness/judge/audit/learning_rate_form.hpp"
#include "harness/judge/audit/norm_rounding.hpp"
#include "harness/judge/audit/table_audit.hpp"
#include "support/numbers.hpp"

namespace plumbline::auditing {
namespace {

/// Recorded norms and l2 derive from the same values in double precision. The error of a sum of n squares is sqrt(n)
/// 2^-53 there: 3e-12 at 5e8 elements. A bound by the number of terms, 5e-8, is reached by no order of adding.
constexpr double allowed_share = 1e-10;

template <typename Number>
std::string text_of(const std::optional<Number>& value) {
  return value ? to_text(*value) : "absent";
}

class StepRows {
 public:
  StepRows(const AuditedStep& audited, Audit& audit)
      : audited_(audited), audit_(audit), rate_(learning_rate_form(audited.manifest())) {}

  void row(const Placed<StepRow>& place) {
    place_ = place;
    row_ = place.row;
    norm();
    coefficient();
    if (rate_ && (row_->learning_rate || audited_.manifest().recorded({"rates"})))
      exactly(part::learning_rate, "learning_rate", std::optional(rate_->at(row_->step * audited_.manifest().every)),
              row_->learning_rate);
    totals();
  }

 private:
  struct Sums {
    std::int64_t tokens = 0, valid = 0;
    std::map<std::int64_t, std::optional<float>> losses;  ///< by microbatch
    void add(const MicrobatchRow& row) {
      tokens += row.tokens;
      valid += row.valid_tokens;
      losses[row.microbatch] = row.loss;
    }
    /// Summed from left to right in float32, the dtype of all recorded losses; nullopt if one is missing.
    std::optional<float> loss() const {
      float sum = 0;
      for (const auto& [microbatch, one] : losses) {
        if (!one) return std::nullopt;
        sum += *one;
      }
      return sum;
    }
  };

  void norm() {
    if (!row_->gradient_norm) {
      if (!audited_.manifest().traits.may_lack)
        report(part::norm, "gradient_norm", "a norm", "absent", "every rank must have it");
      return;
    }
    if (norm_) exactly(part::norm, "gradient_norm", norm_, row_->gradient_norm);
    if (!norm_) norm_ = row_->gradient_norm;
  }

  void coefficient() {
    if (!row_->gradient_norm) return;
    const auto right = right_coefficients(row_->replayed_norm.value_or(*row_->gradient_norm), audited_.manifest());
    const auto& got = row_->clip_coefficient;
    const bool found = got && std::find(right.begin(), right.end(), *got) != right.end();
    exactly(part::norm, "clip_coefficient", found ? got : std::optional(right.front()), got);
  }

  void totals() {
    // Of a part of the step other records hold the rest: the check replicas adds them.
    if (audited_.manifest().part_of_step()) return;
    Sums sums;
    for (const auto& row : audited_.record().ranks[static_cast<std::size_t>(place_.rank)].microbatches) sums.add(row);
    exactly(part::data, "tokens", std::optional(sums.tokens), std::optional(row_->tokens));
    exactly(part::data, "valid_tokens", std::optional(sums.valid), std::optional(row_->valid_tokens));
    const auto loss = sums.loss();
    if (row_->loss && loss) exactly(part::loss, "loss", loss, row_->loss);
  }

  template <typename Number>
  void exactly(const std::string& level, const std::string& item, const std::optional<Number>& expected,
               const std::optional<Number>& got) {
    audit_.count("numbers");
    if (got && std::memcmp(&*got, &*expected, sizeof(Number)) == 0) return;
    const std::string why = level == part::norm && item == "gradient_norm" ? "other ranks have another norm"
                            : level == part::norm          ? "it is not min(1, limit / norm) of this row's norm"
                            : level == part::learning_rate ? "it is not the rate of this step"
                                                           : "it is not the sum over the step's microbatches";
    report(level, item, text_of(expected), text_of(got), why);
  }

  void report(const std::string& level, const std::string& item, const std::string& expected, const std::string& got,
              const std::string& why) {
    audit_.findings.push_back(at_row(place_, level, item, expected, got, why));
  }

  const AuditedStep& audited_;
  Audit& audit_;
  std::optional<LearningRateForm> rate_;
  std::optional<double> norm_;  ///< of the first rank that has one
  Placed<StepRow> place_;
  const StepRow* row_ = nullptr;
};

}  // namespace

void audit_step_rows(const AuditedStep& audited, Audit& audit) {
  StepRows rows(audited, audit);
  for (const auto& place : audited.steps()) rows.row(place);
}

void audit_norms_by_l2(const AuditedStep& audited, Audit& audit) {
  const bool own = audited.manifest().traits.own_formulas;
  if (!own && !audited.manifest().clip_norm) return;  // audit_record reports it
  const auto by_rows = norm_by_rows(audited.record());
  if (!by_rows) return;
  const double allowed = own ? allowed_share : by_rows->limit;
  if (allowed > widest_norm_limit) return;  // gradient_norm reports it
  for (const auto& place : audited.steps()) {
    const StepRow& row = *place.row;
    if (place.rank > 0 || !row.gradient_norm || row.updated == false)
      continue;  // audit_step_rows checks that all ranks agree
    if (!std::isfinite(by_rows->norm) && !std::isfinite(*row.gradient_norm)) continue;  // reported as not finite
    audit.count("numbers");
    if (std::abs(*row.gradient_norm - by_rows->norm) <= allowed * by_rows->norm) continue;
    audit.findings.push_back(at_row(
        place, part::norm, "gradient_norm", to_text(by_rows->norm), to_text(*row.gradient_norm),
        "it is not the root of the sum of l2 squared over the gradients in tensors.csv (a tied weight counted once)"));
  }
}

}  // namespace plumbline::auditing
