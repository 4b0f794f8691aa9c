// SPDX-License-Identifier: BSD-3-Clause
// loss (R1): the loss of every microbatch and of every step, bit for bit.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/expected/losses.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

class LossCheck : public StepCheck {
 public:
  explicit LossCheck(const CellEvidence& evidence) : StepCheck(evidence, {"loss", "R1", evidence.values->demand()}) {}

  void step(const StepEvidence& now) override {
    if (now.step < 0) return;
    step_ = now.step;
    for (std::int64_t m = evidence_.first_own(); m < evidence_.end_own(); ++m) {
      compare(now.reference_rows.microbatches(m), now.candidate_rows.microbatches(m), m);
    }
    compare(now.reference_rows.steps(), now.candidate_rows.steps(), {});
    demand_sum(now.reference_rows, "reference");
    demand_sum(now.candidate_rows, "candidate");
  }

  LocatedResult conclude() override {
    const auto steps = evidence_.compared_steps(), all = steps * evidence_.own_microbatches();
    const std::string of_steps = own_ ? " and " + quantity(steps, "step loss") : "";
    return builder_.conclude(
        fmt::format("{}{} are {}", quantity(all, "microbatch loss"), of_steps, evidence_.values->agreement()),
        {{"microbatch_losses", all}, {"step_losses", steps}}, {"nonzero_losses"});
  }

 private:
  template <class Row>
  void compare(const std::vector<Located<Row>>& theirs, const std::vector<Located<Row>>& mine,
               std::optional<std::int64_t> microbatch) {
    const auto expected = values(theirs, evidence_.reference), got = values(mine, evidence_.candidate);
    if ((expected.empty() && !evidence_.reference.manifest.recorded({"losses"})) ||
        (got.empty() && !evidence_.candidate.manifest.recorded({"losses"})))
      return;
    if (expected.size() != 1) {
      return report(microbatch, {}, "one rank with the loss", std::to_string(expected.size()), "of the reference");
    }
    if (got.size() != 1) {
      return report(microbatch, {}, "one rank with the loss", std::to_string(got.size()), "of the candidate");
    }
    // A recorder adds up the step's loss itself: that compares nothing that a trainer computed.
    builder_.compare_or_inspect(microbatch || own_, microbatch ? "microbatch_losses" : "step_losses");
    const float want = *expected.front().row->loss, have = *got.front().row->loss;
    const auto rank = got.front().rank;
    if (!std::isfinite(want)) {
      return report(microbatch, {}, "a finite loss", to_text(want), "the reference itself");
    }
    if (!std::isfinite(have)) return report(microbatch, rank, to_text(want), to_text(have), "not finite");
    const auto impossible = evidence_.model.llama && evidence_.sizes_recorded()
                                ? why_no_loss(want, expected.front().row->valid_tokens)
                                : std::nullopt;
    if (impossible) return report(microbatch, {}, *impossible, to_text(want), "the reference itself");
    if (want != 0) builder_.compare("nonzero_losses");
    if (const auto wrong = builder_.take(evidence_.values->loss({step_, loss_item(microbatch)}, want, have))) {
      report(microbatch, rank, wrong->expected, wrong->got, wrong->why);
    }
  }

  /// The step's loss is the sum over its microbatches.
  void demand_sum(const RecordIndex& rows, const std::string& whose) {
    if (evidence_.reference.manifest.part_of_step()) return;  // over all replicas: the check `replicas`
    const Record& record = whose == "candidate" ? evidence_.candidate : evidence_.reference;
    LossSum sum;
    for (std::int64_t m = 0; m < evidence_.microbatches(); ++m) {
      const auto found = values(rows.microbatches(m), record);
      if (found.size() != 1) return;  // reported already
      sum.add(*found.front().row->loss);
    }
    const auto total = values(rows.steps(), record);
    if (total.size() != 1) return;
    const float loss = *total.front().row->loss;
    builder_.compare_or_inspect(whose == "candidate", "sums");
    if (!sum.admits(loss)) {
      report({}, total.front().rank, to_text(sum.sum()), to_text(static_cast<double>(loss)),
             whose + ": not the sum over the microbatches, within rounding");
    }
  }

  /// Rows of the rank that owns the loss. External trainers send it to all ranks: equal values of several ranks count
  /// once.
  template <class Row>
  static std::vector<Located<Row>> values(const std::vector<Located<Row>>& rows, const Record& record) {
    std::vector<Located<Row>> result;
    for (const auto& placed : rows) {
      if (!placed.row->loss) continue;
      const bool again =
          !record.manifest.traits.own && !result.empty() && same_bits(*result.back().row->loss, *placed.row->loss);
      if (again) result.pop_back();
      result.push_back(placed);
    }
    return result;
  }

  void report(std::optional<std::int64_t> microbatch, std::optional<std::int64_t> rank, const std::string& expected,
              const std::string& got, const std::string& why) {
    builder_.diverge(microbatch ? at_loss(step_, *microbatch) : at_step_loss(step_),
                     {.step = step_,
                      .microbatch = microbatch,
                      .stage = evidence_.stage_of_loss(),
                      .rank = rank,
                      .item = microbatch ? "loss of the microbatch" : "loss of the step",
                      .expected = expected,
                      .got = got,
                      .why = why});
  }

  const bool own_ = evidence_.reference.manifest.traits.own && evidence_.candidate.manifest.traits.own;
  std::int64_t step_ = 0;
};

}  // namespace

CheckDescriptor loss_check() {
  return {.name = "loss",
          .place = 50,
          .claims =
              "the loss of every microbatch and of every step has the same bits; the step's is their sum from left "
              "to right; as a cross-entropy none is below 0, and that of a microbatch without a valid token is 0.",
          .needs_in_words = "level summary, the same start.",
          .cannot_see = "gradients that are dropped, not scaled or not applied.",
          .same_start = true,
          .of_every_case = true,
          .values = Values::before_update,
          .compares_without = {"losses"},
          .make = make_check<LossCheck>};
}

}  // namespace plumbline::judging
