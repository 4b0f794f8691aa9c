// gradient_norm (R4): the global norm before clipping and the coefficient that follows from it, on every rank.
#include <bit>
#include <cmath>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/limits/within_limits.hpp"
#include "support/numbers.hpp"

namespace plumbline::judging {
namespace {

bool same_bits(double left, double right) {
  return std::bit_cast<std::uint64_t>(left) == std::bit_cast<std::uint64_t>(right);
}

std::string text_of(const std::optional<double>& value) {
  return value ? to_text(*value) : "absent";
}

/// min(1, limit / norm) in fp64 without an epsilon (docs/exactness.md, 4); 1 without a limit.
double coefficient_of(double norm, const std::optional<double>& limit) {
  if (std::isnan(norm)) return norm;
  return limit ? std::min(1.0, *limit / norm) : 1.0;
}

class GradientNormCheck : public StepCheck {
 public:
  explicit GradientNormCheck(const CellEvidence& evidence)
      : evidence_(evidence), judgement_("gradient_norm", "R4", value_limit(evidence)) {}

  void step(const StepEvidence& now) override {
    if (now.step < 0) return;
    step_ = now.step;
    const auto& theirs = now.reference_rows.steps();
    const auto expected = norm_of(theirs);
    if (!expected) return report({}, "gradient_norm", "a norm", "absent", "the reference: ");
    if (!std::isfinite(*expected))
      return report({}, "gradient_norm", "a finite norm", to_text(*expected), "the reference: ");
    for (const auto& placed : theirs) row(placed, *expected, true, "the reference: ");
    const bool external = evidence_.candidate.manifest.role == "external";
    const auto& mine = now.candidate_rows.steps();
    const auto own = norm_of(mine);
    if ((external || evidence_.limits) && !own) return report({}, "gradient_norm", "a norm", "absent", "");
    if (evidence_.limits) within_limit(mine.front().rank, *own);
    // Within limits too every rank has the same norm, and the coefficient that follows from it.
    for (const auto& placed : mine) row(placed, evidence_.limits ? *own : *expected, external, "");
  }

  Judged conclude() override {
    if (evidence_.plan.clipping_must_act && (acting_ == 0 || resting_ == 0)) {
      return judgement_.conclude_as(
          Outcome::not_triggered, acting_ == 0 ? "the norms agree, but no step was clipped: the limit never bit"
                                               : "the norms agree, but every step was clipped: none has coefficient 1");
    }
    if (acting_ == 0) judgement_.not_shown("a coefficient that is not applied: no step was clipped");
    return judgement_.conclude(
        "norm and clip coefficient of " + std::to_string(evidence_.steps()) + " steps are " + agreement(evidence_),
        {{"norms", 2 * evidence_.steps()}, {"coefficients", 2 * evidence_.steps()}});
  }

 private:
  static std::optional<double> norm_of(const std::vector<Placed<StepRow>>& rows) {
    for (const auto& placed : rows) {
      if (placed.row->gradient_norm) return placed.row->gradient_norm;
    }
    return std::nullopt;
  }

  void within_limit(std::int64_t rank, double norm) {
    const Measured value = evidence_.limits->gradient_norm(step_, norm);
    judgement_.note(value);
    if (value.holds()) return;
    report(rank, "gradient_norm", "at most " + short_text(value.limit) + " off the shadow's", to_text(norm),
           "outside its limit, margin " + short_text(value.margin()) + ": ");
  }

  void row(const Placed<StepRow>& placed, double expected, bool may_lack, const std::string& whose) {
    const auto& norm = placed.row->gradient_norm;
    if (may_lack && !norm) return;
    judgement_.compare_or_look_at(whose.empty(), "norms");
    if (!norm || !same_bits(*norm, expected)) {
      std::string why = whose;
      if (norm && std::isfinite(*norm)) why += "ratio " + to_text(*norm / expected) + ", ";
      return report(placed.rank, "gradient_norm", to_text(expected), text_of(norm), why);
    }
    const double wanted = coefficient_of(expected, evidence_.reference.manifest.clip_norm);
    const auto& coefficient = placed.row->clip_coefficient;
    judgement_.compare_or_look_at(whose.empty(), "coefficients");
    if (!coefficient || !same_bits(*coefficient, wanted)) {
      report(placed.rank, "clip_coefficient", to_text(wanted), text_of(coefficient), whose);
    }
    if (whose.empty()) ++(wanted < 1 ? acting_ : resting_);
  }

  void report(std::optional<std::int64_t> rank, const std::string& item, const std::string& expected,
              const std::string& got, const std::string& why) {
    judgement_.diverge(at_norm(step_, item == "gradient_norm" ? NormPart::norm : NormPart::clip_coefficient), step_,
                       rank, item, expected, got,
                       why + item + " at " + step_words(step_) + (rank ? " on rank " + std::to_string(*rank) : "") +
                           " is " + got + ", not " + expected);
  }

  const CellEvidence& evidence_;
  Judgement judgement_;
  std::int64_t step_ = 0, acting_ = 0, resting_ = 0;
};

}  // namespace

std::unique_ptr<StepCheck> gradient_norm_check(const CellEvidence& evidence) {
  return std::make_unique<GradientNormCheck>(evidence);
}

}  // namespace plumbline::judging
