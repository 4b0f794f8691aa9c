// SPDX-License-Identifier: BSD-3-Clause
// loss (R1): the loss of every microbatch and of every step, bit for bit.
// evaluation (R1): the losses on validation data, bit for bit or within limits.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/diff/diff.hpp"
#include "harness/judge/predicates/forms.hpp"
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
          .claims =
              "the loss of every microbatch and of every step has the same bits. A step's loss is the sum of its "
              "microbatches' from left to right. A cross-entropy is never below 0, and is 0 without valid tokens.",
          .cannot_see = "gradients that are dropped, not scaled or not applied.",
          .same_start = true,
          .values = Values::before_update,
          .compares_without = {"losses"},
          .make = make_check<LossCheck>};
}

namespace {

class EvaluationCheck : public StepCheck {
 public:
  explicit EvaluationCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"evaluation", "R1", evidence.values->demand()}) {
    if (!compared()) return;
    const EvaluationPlan &theirs = *evidence.reference.manifest.evaluation,
                         &mine = *evidence.candidate.manifest.evaluation;
    demand_plan("microbatches", theirs.microbatches, mine.microbatches);
    demand_plan("every", theirs.every, mine.every);
  }

  void step(const StepEvidence& now) override {
    if (now.step < 0 || !compared()) return;
    if (!evidence_.reference.manifest.evaluates_after(now.step)) return;
    step_ = now.step;
    compare_claim(now, "evaluation", builder_);
    for (const Fact& fact : of_column(now.facts.reference, Column::evaluation))
      if (fact.microbatch >= 0) same_in_every_evaluation(fact.microbatch, *std::get<const EvaluationRow*>(fact.value));
    for (const Facts* facts : {&now.facts.reference, &now.facts.candidate}) {
      for (const Fact& fact : of_column(*facts, Column::evaluation))
        lacks_digests_ |= fact.microbatch >= 0 && std::get<const EvaluationRow*>(fact.value)->data_digest.empty();
      demand_sum(*facts, facts == &now.facts.candidate ? "candidate" : "reference");
    }
  }

  LocatedResult conclude() override {
    if (!compared()) {
      differ_in_plan("evaluation", plan_text(evidence_.reference), plan_text(evidence_.candidate));
      return builder_.conclude_as(Outcome::differs, "");
    }
    if (lacks_digests_) builder_.leave_out("data_digest of evaluation.csv");
    const std::int64_t all = evaluations() * microbatches();
    return builder_.conclude(fmt::format("the losses of {} of {} are {}, on the same data", quantity(all, "microbatch"),
                                         quantity(evaluations(), "evaluation"), evidence_.values->agreement()),
                             {});
  }

 private:
  bool compared() const { return evidence_.reference.manifest.evaluation && evidence_.candidate.manifest.evaluation; }
  std::int64_t microbatches() const { return evidence_.reference.manifest.evaluation->microbatches; }
  static std::string plan_text(const Record& record) {
    return record.manifest.evaluation ? "every " + to_text(record.manifest.evaluation->every) : "absent";
  }

  void demand_plan(const char* key, std::int64_t expected, std::int64_t got) {
    builder_.compare("plans");
    if (expected == got) return;
    differ_in_plan(std::string("evaluation.") + key, to_text(expected), to_text(got));
  }

  void differ_in_plan(const std::string& key, const std::string& theirs, const std::string& mine) {
    builder_.diverge(
        at_structure(),
        {.step = -1,
         .item = "manifest.json " + key,
         .expected = theirs,
         .got = mine,
         .words = fmt::format(
             "{} is {} in the reference's manifest.json, {} in the candidate's: run both with the same [evaluate]", key,
             theirs, mine)});
  }

  /// Steps after which bits are compared.
  std::int64_t evaluations() const {
    std::int64_t count = 0;
    const std::int64_t end = evidence_.norm_diverged_at.value_or(evidence_.last_step() + 1);
    for (std::int64_t step = evidence_.first_step(); step < end; ++step) {
      if (evidence_.reference.manifest.evaluates_after(step)) ++count;
    }
    return count;
  }

  /// The microbatches are the same in every evaluation; the candidate's are compared with the reference's.
  void same_in_every_evaluation(std::int64_t microbatch, const EvaluationRow& row) {
    const auto [found, fresh] = first_.try_emplace(microbatch, row);
    if (fresh) return;
    const std::string why =
        "the reference itself, which differs from the evaluation after step " + to_text(found->second.step);
    for (const CellDifference& cell : differences_of_data(found->second, row))
      report(microbatch, {}, cell.column, cell.expected, cell.got, why);
  }

  /// Sums of loss and tokens; the loss within the roundings of its sum.
  void demand_sum(const Facts& facts, const std::string& whose) {
    std::vector<const EvaluationRow*> parts;
    for (std::int64_t m = 0; m < microbatches(); ++m) {
      const FactSpan found = with_key(facts, {.column = Column::evaluation, .microbatch = m});
      if (found.size() != 1) return;  // reported already
      parts.push_back(std::get<const EvaluationRow*>(found.front().value));
    }
    const FactSpan whole = with_key(facts, {.column = Column::evaluation});
    if (whole.size() != 1) return;
    builder_.compare_or_inspect(whose == "candidate", "sums");
    for (const CellDifference& cell : differences_from_sum(*std::get<const EvaluationRow*>(whole.front().value), parts))
      report({}, whole.front().place.rank, cell.column, cell.expected, cell.got,
             whose + ", not the sum over the microbatches");
  }

  void report(std::optional<std::int64_t> microbatch, std::optional<std::int64_t> rank, const std::string& what,
              const std::string& expected, const std::string& got, const std::string& why) {
    builder_.diverge(at_evaluation(step_, microbatch.value_or(microbatches())),
                     {.step = step_,
                      .microbatch = microbatch,
                      .stage = evidence_.stage_of_loss(),
                      .rank = rank,
                      .item = "evaluation.csv " + what,
                      .what = what + " of the evaluation after the step",
                      .expected = expected,
                      .got = got,
                      .why = why});
  }

  std::map<std::int64_t, EvaluationRow> first_;  ///< by microbatch: rows of the reference's first evaluation
  bool lacks_digests_ = false;
  std::int64_t step_ = 0;
};

}  // namespace

CheckDescriptor evaluation_check() {
  return {.name = "evaluation",
          .claims =
              "after each step that has an evaluation, its loss and the loss of each of its microbatches have the same "
              "bits. Every evaluation uses the same data.",
          .needs_in_words = "validation data in both runs.",
          .cannot_see =
              "whether an evaluation changes the training (`data`, `gradients` and `parameters` of the next step).",
          .same_start = true,
          .of_evaluations = true,
          .values = Values::of_update,
          .make = make_check<EvaluationCheck>};
}

}  // namespace plumbline::judging
