// SPDX-License-Identifier: BSD-3-Clause
// evaluation (R1): the losses on validation data, bit for bit or within limits.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/diff/diff.hpp"
#include "harness/judge/expected/losses.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
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
          .place = 110,
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
