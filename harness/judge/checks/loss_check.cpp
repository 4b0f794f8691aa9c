// SPDX-License-Identifier: BSD-3-Clause
// loss (R1): the loss of every microbatch and of every step, bit for bit.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/diff/diff.hpp"
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
    compare_columns(now, {Column::loss, Column::step_loss}, builder_);
    demand_sum(now.reference_rows, "reference");
    demand_sum(now.candidate_rows, "candidate");
  }

  LocatedResult conclude() override {
    const auto steps = evidence_.compared_steps(), all = steps * evidence_.own_microbatches();
    const std::string of_steps = own_ ? " and " + quantity(steps, "step loss") : "";
    return builder_.conclude(
        fmt::format("{}{} are {}", quantity(all, "microbatch loss"), of_steps, evidence_.values->agreement()), {});
  }

 private:
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
