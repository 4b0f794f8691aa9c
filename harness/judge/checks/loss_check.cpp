// SPDX-License-Identifier: BSD-3-Clause
// loss (R1): the loss of every microbatch and of every step, bit for bit.
#include <fmt/format.h>

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
    compare_claim(now, "loss", builder_);
    demand_sum(now, now.facts.reference, "reference");
    demand_sum(now, now.facts.candidate, "candidate");
  }

  LocatedResult conclude() override {
    const auto steps = evidence_.compared_steps(), all = steps * evidence_.own_microbatches();
    const std::string of_steps = own_ ? " and " + quantity(steps, "step loss") : "";
    return builder_.conclude(
        fmt::format("{}{} are {}", quantity(all, "microbatch loss"), of_steps, evidence_.values->agreement()), {});
  }

 private:
  /// The step's loss is the sum over its microbatches.
  void demand_sum(const StepEvidence& now, const Facts& facts, const std::string& whose) {
    if (evidence_.reference.manifest.part_of_step()) return;  // over all replicas: the check `replicas`
    LossSum sum;
    for (std::int64_t m = 0; m < evidence_.microbatches(); ++m) {
      const FactSpan found = with_key(facts, {.column = Column::loss, .microbatch = m});
      if (found.size() != 1) return;  // reported already
      sum.add(std::get<float>(found.front().value));
    }
    const FactSpan total = of_column(facts, Column::step_loss);
    if (total.size() != 1) return;
    const float loss = std::get<float>(total.front().value);
    builder_.compare_or_inspect(whose == "candidate", "sums");
    if (sum.admits(loss)) return;
    builder_.diverge(at_step_loss(now.step), {.step = now.step,
                                              .stage = evidence_.stage_of_loss(),
                                              .rank = total.front().place.rank,
                                              .item = "loss of the step",
                                              .expected = to_text(sum.sum()),
                                              .got = to_text(static_cast<double>(loss)),
                                              .why = whose + ": not the sum over the microbatches, within rounding"});
  }

  /// The Python recorder adds the step's loss up itself: that shows nothing of the trainer.
  const bool own_ = !evidence_.reference.manifest.conventions.python_recorder &&
                    !evidence_.candidate.manifest.conventions.python_recorder;
};

}  // namespace

CheckDescriptor loss_check() {
  return {.name = "loss",
          .place = 50,
          .claims =
              "the loss of every microbatch and of every step has the same bits. A step's loss is the sum of its "
              "microbatches' from left to right. A cross-entropy is never below 0, and is 0 without valid tokens.",
          .cannot_see = "gradients that are dropped, not scaled or not applied.",
          .same_start = true,
          .values = Values::before_update,
          .compares_without = {"losses"},
          .make = make_check<LossCheck>};
}

}  // namespace plumbline::judging
