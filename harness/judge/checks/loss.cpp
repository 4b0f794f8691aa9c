// loss (R1): the loss of every microbatch and of every step, bit for bit.
#include <bit>
#include <cmath>
#include <limits>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/limits/within_limits.hpp"
#include "support/numbers.hpp"

namespace plumbline::judging {
namespace {

class LossComparison {
 public:
  LossComparison(const CellEvidence& evidence, Judgement& judgement) : evidence_(evidence), judgement_(judgement) {}

  template <class Row>
  void compare(const std::vector<Placed<Row>>& theirs, const std::vector<Placed<Row>>& mine, const Moment& moment,
               std::int64_t step, std::optional<std::int64_t> microbatch) {
    const auto expected = values(theirs), got = values(mine);
    if (expected.size() != 1) {
      return report(moment, step, microbatch, {}, "one rank with the loss", std::to_string(expected.size()),
                    "the reference: ");
    }
    if (got.size() != 1) {
      return report(moment, step, microbatch, {}, "one rank with the loss", std::to_string(got.size()),
                    "the candidate: ");
    }
    judgement_.compare(microbatch ? "microbatch_losses" : "step_losses");
    const float want = *expected.front().row->loss, have = *got.front().row->loss;
    const auto rank = got.front().rank;
    if (!std::isfinite(want)) {
      return report(moment, step, microbatch, {}, "a finite loss", to_text(want), "the reference itself: ");
    }
    if (!std::isfinite(have))
      return report(moment, step, microbatch, rank, to_text(want), to_text(have), "not finite: ");
    if (want != 0) judgement_.compare("nonzero_losses");
    if (evidence_.limits) {
      const Measured value = evidence_.limits->loss(step, microbatch, static_cast<double>(have));
      judgement_.note(value);
      if (value.holds()) return;
      return report(moment, step, microbatch, rank, "at most " + short_text(value.limit) + " off the shadow's",
                    to_text(have), "outside its limit, margin " + short_text(value.margin()) + ": ");
    }
    if (std::bit_cast<std::uint32_t>(want) != std::bit_cast<std::uint32_t>(have)) {
      report(moment, step, microbatch, rank, to_text(want), to_text(have), "");
    }
  }

  /// The step's loss is the sum over its microbatches. In whatever precision a trainer adds, each of the M additions
  /// and the M + 1 roundings to fp32 is off by at most half an ulp of the running sum; losses are positive, so (2M + 1)
  /// 2^-24 of the sum bounds it.
  void demand_sum(const RecordIndex& rows, std::int64_t step, const std::string& whose) {
    double sum = 0;
    for (std::int64_t m = 0; m < evidence_.microbatches(); ++m) {
      const auto found = values(rows.microbatches(step, m));
      if (found.size() != 1) return;  // reported already
      sum += static_cast<double>(*found.front().row->loss);
    }
    const auto total = values(rows.steps(step));
    if (total.size() != 1) return;
    const double loss = static_cast<double>(*total.front().row->loss);
    const double limit = static_cast<double>(2 * evidence_.microbatches() + 1) * std::ldexp(1.0, -24) * std::abs(sum);
    judgement_.compare_or_look_at(&rows == &evidence_.candidate_rows, "sums");
    if (!(std::abs(loss - sum) <= limit)) {
      report(at_step_loss(step), step, {}, total.front().rank, to_text(sum), to_text(loss),
             whose + ": not the sum over the microbatches, within rounding: ");
    }
  }

 private:
  template <class Row>
  static std::vector<Placed<Row>> values(const std::vector<Placed<Row>>& rows) {
    std::vector<Placed<Row>> result;
    for (const auto& placed : rows) {
      if (placed.row->loss) result.push_back(placed);
    }
    return result;
  }

  void report(const Moment& moment, std::int64_t step, std::optional<std::int64_t> microbatch,
              std::optional<std::int64_t> rank, const std::string& expected, const std::string& got,
              const std::string& why) {
    FirstDivergence divergence;
    divergence.step = step;
    divergence.microbatch = microbatch;
    divergence.rank = rank;
    divergence.stage = evidence_.stages.stage_of("lm_head");
    divergence.item = microbatch ? "loss of the microbatch" : "loss of the step";
    divergence.expected = expected;
    divergence.got = got;
    divergence.words =
        why + divergence.item + " at " + step_words(step, microbatch) + " is " + got + ", not " + expected;
    judgement_.diverge(moment, std::move(divergence));
  }

  const CellEvidence& evidence_;
  Judgement& judgement_;
};

}  // namespace

Judged check_loss(const CellEvidence& evidence) {
  Judgement judgement("loss", "R1", value_limit(evidence));
  LossComparison comparison(evidence, judgement);
  for (std::int64_t step = 0; step < evidence.steps(); ++step) {
    for (std::int64_t m = 0; m < evidence.microbatches(); ++m) {
      comparison.compare(evidence.reference_rows.microbatches(step, m), evidence.candidate_rows.microbatches(step, m),
                         at_loss(step, m), step, m);
    }
    comparison.compare(evidence.reference_rows.steps(step), evidence.candidate_rows.steps(step), at_step_loss(step),
                       step, {});
    comparison.demand_sum(evidence.reference_rows, step, "reference");
    comparison.demand_sum(evidence.candidate_rows, step, "candidate");
  }
  const auto all = evidence.steps() * evidence.microbatches();
  return judgement.conclude(std::to_string(all) + " microbatch losses and " + std::to_string(evidence.steps()) +
                                " step losses are " + agreement(evidence),
                            {{"microbatch_losses", all}, {"step_losses", evidence.steps()}}, {"nonzero_losses"});
}

}  // namespace plumbline::judging
