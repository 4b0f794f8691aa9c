// SPDX-License-Identifier: BSD-3-Clause
// gradient_norm (R4): the global norm before clipping and the resulting clip coefficient, on every rank.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/facts/fact.hpp"
#include "harness/judge/hints/hints.hpp"
#include "harness/judge/predicates/forms.hpp"
#include "record/precision.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

std::string text_of(const std::optional<double>& value) {
  return value ? to_text(*value) : "absent";
}

/// True if neither the norm nor its square is representable in bfloat16, so that neither was stored as one.
bool is_wider_than_bfloat16(double norm) {
  const auto rounds = [](double value) {
    return std::abs(predicates::rounded(predicates::Storage::bfloat16, value) / value - 1) > 0x1p-22;
  };
  return rounds(norm) && rounds(norm * norm);
}

class GradientNormCheck : public StepCheck {
 public:
  explicit GradientNormCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"gradient_norm", "R4",
                             evidence.norm_by_rank() ? "norms within the rounding of their sums of squares; each "
                                                       "coefficient exactly follows from its own norm"
                                                     : evidence.values->demand()}) {}

  void step(const StepEvidence& now) override {
    step_ = now.step;
    if (now.step < 0) return replay();
    if (now.skipped()) {
      ++skipped_;
      return;
    }
    behind_ = evidence_.norm_diverged_at && step_ > *evidence_.norm_diverged_at;
    if (!behind_) compare_calls();
    if (several_calls(evidence_.reference) || several_calls(evidence_.candidate)) return;
    const auto& theirs = now.reference_rows.steps();
    const auto expected = norm_of(theirs);
    if (norm_may_be_absent() && (!expected || !norm_of(now.candidate_rows.steps()))) {
      unrecorded_ = true;
      return;
    }
    if (!expected) return report({}, "gradient_norm", "a norm", "absent", "of the reference");
    if (!std::isfinite(expected->value))
      return report({}, "gradient_norm", "a finite norm", to_text(expected->value), "of the reference");
    for (const auto& placed : theirs) row(placed, expected->value, evidence_.reference, "of the reference");
    const auto& mine = now.candidate_rows.steps();
    const auto own = norm_of(mine);
    if (!own) return report({}, "gradient_norm", "a norm", "absent", "");
    if (evidence_.norm_by_rank())
      within_roundings(*expected, *own);
    else
      compare(*expected, *own);
    // All ranks must agree on the norm and on the coefficient.
    for (const auto& placed : mine) row(placed, own->value, evidence_.candidate, "");
  }

  LocatedResult conclude() override {
    if (widest_limit_ > 0)
      return builder_.conclude_as(
          Outcome::incomplete, fmt::format("the gradient norm is too imprecise to judge (rounding error up to {}); "
                                           "compute it in float32 (and record its dtype), or sum it in canonical order",
                                           to_text(widest_limit_)));
    if (evidence_.plan.clipping_must_act && (acting_ == 0 || resting_ == 0)) {
      return builder_.conclude_as(
          Outcome::incomplete, acting_ == 0 ? "the norms agree, but no step was clipped: no norm reached the limit"
                                            : "the norms agree, but every step was clipped: no step has coefficient 1");
    }
    if (unrecorded_ && builder_.count("norms") == 0)
      return builder_.conclude_as(Outcome::does_not_apply, "the runs do not clip, and one of the records has no norm");
    if (acting_ == 0) builder_.not_shown("a coefficient that is not applied: no step was clipped");
    return builder_.conclude(
        evidence_.norm_by_rank()
            ? fmt::format("the norms of {} are within the rounding of their sums, and each coefficient follows from "
                          "its record's norm{}",
                          steps_words(), apart_words_)
            : fmt::format("norm and clip coefficient of {} are {}", steps_words(), evidence_.values->agreement()),
        {{"norms", 2 * compared_steps()}, {"coefficients", 2 * compared_steps()}});
  }

 private:
  struct Norm {
    std::int64_t rank = 0;
    double value = 0;
  };
  /// The norm of the first rank that has one.
  static std::optional<Norm> norm_of(const std::vector<Located<StepRow>>& rows) {
    for (const auto& placed : rows) {
      if (placed.row->gradient_norm) return Norm{placed.rank, *placed.row->gradient_norm};
    }
    return std::nullopt;
  }

  std::int64_t compared_steps() const { return unrecorded_ ? 0 : evidence_.steps() - skipped_; }
  std::string steps_words() const { return quantity(evidence_.steps(), "step"); }

  /// A trainer that does not clip needs no norm.
  bool norm_may_be_absent() const {
    const Record &one = evidence_.reference, &other = evidence_.candidate;
    if (excused(one, "norm", step_) || excused(other, "norm", step_)) return true;
    return !one.manifest.clip_norm && !other.manifest.clip_norm &&
           (is_optional(one, "norm") || is_optional(other, "norm"));
  }

  /// Only the run on one device replays norms, and only this candidate's.
  void replay() {
    no_replay_ = why_no_replay_of(evidence_.reference, evidence_.candidate);
    if (!no_replay_.empty())  // at the end: a difference that it does not explain comes first
      builder_.diverge(at_the_end(), {.step = step_,
                                      .item = "norms_from",
                                      .expected = "the digest of the candidate's norms.csv",
                                      .got = "another",
                                      .why = no_replay_});
    if (evidence_.candidate.manifest.norms_from)
      report({}, "norms_from", "its own norms", "another run's norms",
             "the candidate clipped by replayed norms instead of its own: record it without norms_from=");
  }

  static bool several_calls(const Record& record) { return first_clipping_calls(record).size() > 1; }

  /// With a replay all coefficients have the same bits. If a step has several calls, it is unknown which gradients each
  /// clipped: their norms are compared with the reference's, and not with the gradients.
  void compare_calls() {
    const auto expected = first_clipping_calls(evidence_.reference), got = first_clipping_calls(evidence_.candidate);
    const bool several = expected.size() > 1 || got.size() > 1;
    if (several && expected.size() != got.size())
      return report({}, "gradient_norm", quantity(std::ssize(expected), "clipping call"),
                    quantity(std::ssize(got), "clipping call"), "");
    for (std::size_t i = 0; i < std::min(expected.size(), got.size()); ++i) {
      if (evidence_.reference.manifest.norms_from && expected[i].coefficient != got[i].coefficient)
        report({}, "clip_coefficient", text_of(expected[i].coefficient), text_of(got[i].coefficient),
               !no_replay_.empty() ? no_replay_
                                   : "the reference replayed the candidate's norms, but not for this coefficient: clip "
                                     "by what record.norm(total_norm) returns");
      if (!several) continue;
      builder_.compare("norms", 2);
      builder_.compare("coefficients", 2);
      const double limit = norm_limit_by_model(evidence_.reference, evidence_.model, false) +
                           norm_limit_by_model(evidence_.candidate, evidence_.model, false);
      hold({{}, expected[i].norm}, {{}, got[i].norm}, limit, "", "the reference's", "");
      for (const RankRecord& rank : evidence_.candidate.ranks) {
        const auto calls = clipping_calls(rank);
        if (!calls.empty() && (calls.size() != got.size() || !same_bits(calls[i].norm, got[i].norm)))
          report(rank.rank, "gradient_norm", to_text(got[i].norm),
                 calls.size() > i ? to_text(calls[i].norm) : "no such call", "other ranks have another norm");
      }
    }
  }

  /// Compares each norm with its own gradients or, if one record lacks their rows, the two norms with each other.
  void within_roundings(const Norm& expected, const Norm& got) {
    const bool clips = evidence_.reference.manifest.clip_norm || evidence_.candidate.manifest.clip_norm;
    if (!clips && same_bits(expected.value, got.value)) return;  // without clipping nothing depends on it
    const auto theirs = predicates::norm_by_rows(evidence_.reference),
               mine = predicates::norm_by_rows(evidence_.candidate);
    if (theirs && mine) {
      const double apart = std::abs(got.value / expected.value - 1);
      if (!(apart <= std::max(apart_, theirs->limit + mine->limit)) && expected.value > 0)
        apart_ = apart, apart_words_ = words_of_norms(got.value / expected.value);
      hold({{}, theirs->norm}, expected, theirs->limit, "of the reference", "the root of the sum of l2 squared",
           other_norm_words(evidence_.reference, expected.value));
      return hold({{}, mine->norm}, got, mine->limit, "", "the root of the sum of l2 squared",
                  other_norm_words(evidence_.candidate, got.value));
    }
    if (behind_) return;
    const bool wider = is_wider_than_bfloat16(expected.value) && is_wider_than_bfloat16(got.value);
    const double limit = norm_limit_by_model(evidence_.reference, evidence_.model, wider) +
                         norm_limit_by_model(evidence_.candidate, evidence_.model, wider);
    hold(expected, got, limit, "", "the reference's", "");
  }

  /// Two norms that each fit their own gradients.
  std::string words_of_norms(double ratio) const {
    return fmt::format(
        ". Each follows from its own gradients; in {} the two differ by a factor of {:.6g} because the gradients do",
        step_words(step_), ratio);
  }

  void compare(const Norm& expected, const Norm& got) {
    if (const auto wrong = builder_.take(evidence_.values->gradient_norm(step_, expected.value, got.value)))
      report(got.rank, "gradient_norm", wrong->expected, wrong->got, wrong->why);
  }

  /// `hint`: added to the reason of a norm outside of the limit.
  void hold(const Norm& expected, const Norm& got, double limit, const std::string& whose, const std::string& what,
            const std::string& hint) {
    if (!(limit <= predicates::widest_norm_limit)) {
      widest_limit_ = std::max(widest_limit_, limit);
      return;
    }
    const double apart = expected.value == got.value ? 0 : std::abs(got.value / expected.value - 1);
    if (!(apart / limit <= nearest_)) {
      nearest_ = apart / limit;
      builder_.measured(fmt::format("relative difference at most {}; allowed {}", to_text(apart), to_text(limit)));
      builder_.margin(nearest_);
    }
    if (apart <= limit) return;
    report(whose.empty() ? std::optional(got.rank) : std::nullopt, "gradient_norm",
           fmt::format("{} ({}) within {} of it", to_text(expected.value), what, to_text(limit)), to_text(got.value),
           fmt::format("{}{}ratio {:.6g}{}", whose, whose.empty() ? "" : ", ", got.value / expected.value, hint));
  }

  void row(const Located<StepRow>& placed, double expected, const Record& record, const std::string& whose) {
    const auto& norm = placed.row->gradient_norm;
    if (!norm && (!whose.empty() || is_optional(record, "norm"))) return;
    builder_.compare_or_inspect(whose.empty(), "norms");
    if (!norm || !same_bits(*norm, expected)) {
      std::string why = whose;
      if (norm && std::isfinite(*norm)) why += fmt::format("{}ratio {:.6g}", why.empty() ? "" : ", ", *norm / expected);
      return report(placed.rank, "gradient_norm", to_text(expected), text_of(norm), why);
    }
    const auto right = predicates::right_coefficients(placed.row->replayed_norm.value_or(expected), record.manifest);
    const double wanted = right.front();
    const auto& coefficient = placed.row->clip_coefficient;
    builder_.compare_or_inspect(whose.empty(), "coefficients");
    const auto is_right = [&](double one) { return coefficient && same_bits(*coefficient, one); };
    if (std::none_of(right.begin(), right.end(), is_right)) {
      report(placed.rank, "clip_coefficient", to_text(wanted), text_of(coefficient), whose);
    }
    if (whose.empty()) ++(wanted < 1 ? acting_ : resting_);
  }

  void report(std::optional<std::int64_t> rank, const std::string& item, const std::string& expected,
              const std::string& got, const std::string& why) {
    builder_.diverge(at_norm(step_, item == "gradient_norm" ? NormPart::norm : NormPart::clip_coefficient),
                     {.step = step_, .rank = rank, .item = item, .expected = expected, .got = got, .why = why});
  }

  std::int64_t step_ = 0, acting_ = 0, resting_ = 0, skipped_ = 0;
  bool unrecorded_ = false;
  bool behind_ = false;      ///< the step is behind diverged coefficients: each record is judged by itself
  double apart_ = 0;         ///< largest relative difference of two norms that roundings do not explain
  std::string apart_words_;  ///< of that one
  std::string no_replay_;    ///< why the replayed norms are not the candidate's; empty: they are, or none were
  double nearest_ = -1;      ///< largest ratio of a norm's deviation to its limit
  double widest_limit_ = 0;  ///< of norms whose limit is too wide; 0: there were none
};

}  // namespace

CheckDescriptor gradient_norm_check() {
  return {.name = "gradient_norm",
          .claims =
              "the global norm and the clip coefficient have the same bits on every rank. With `clipping = true` in "
              "the sweep file, some steps are clipped and others are not.",
          .needs_in_words =
              "a norm with the same bits on any number of ranks; one that an external trainer sums rank by rank is "
              "judged within [limits](exactness.md#bounds-that-grow-with-the-model).",
          .cannot_see = "whether the coefficient is applied (`parameters`, `audit`).",
          .same_start = true,
          .compares_without = {"norm"},
          .make = make_check<GradientNormCheck>};
}

}  // namespace plumbline::judging
