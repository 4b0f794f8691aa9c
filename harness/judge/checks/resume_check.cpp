// SPDX-License-Identifier: BSD-3-Clause
// resume (R6): a resumed run begins with the reference's state and position in the data.
#include <fmt/format.h>

#include <set>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/checks/tensor_comparison.hpp"
#include "support/numbers.hpp"

namespace plumbline::judging {
namespace {

class ResumeCheck : public StepCheck {
 public:
  explicit ResumeCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"resume", "R6", "0 ULP: the resumed state is the state after the step before"}) {}

  void step(const StepEvidence& now) override {
    if (evidence_.first_step() == 0) return;  // it should have resumed, and began anew
    if (now.step < 0) return start(now);
    if (now.step != evidence_.first_step()) return;
    const bool recorded = evidence_.sizes_recorded() && evidence_.candidate.manifest.recorded({"inputs", "labels"});
    if (recorded) data(now);
    rates(now);
  }

  LocatedResult conclude() override {
    if (evidence_.first_step() == 0)
      return builder_.conclude_as(Outcome::not_run, "the record begins with step 0: nothing was resumed");
    const auto tensors = static_cast<std::int64_t>(evidence_.model.parameters.size()) * kinds_;
    const auto ranks = static_cast<std::int64_t>(evidence_.candidate.ranks.size());
    return builder_.conclude(
        fmt::format("parameters and optimiser state when it resumed at step {} are the reference's after the step "
                    "before, and so are data and learning rate of that step",
                    evidence_.first_step()),
        {{"tensors", tensors}, {"learning_rates", ranks}, {"digests", evidence_.own_microbatches()}});
  }

 private:
  void start(const StepEvidence& now) {
    const auto kinds = state_kinds(now);
    report_moments_that_the_optimiser_lacks(now, kinds, builder_);
    for (const auto& kind : kinds) {
      compare_tensors(now, kind, builder_);
      ++kinds_;
    }
  }

  /// Compares the microbatches of the first step: a run that lost its position in the data has others.
  void data(const StepEvidence& now) {
    for (std::int64_t m = evidence_.first_own(); m < evidence_.end_own(); ++m) {
      std::set<std::string> theirs;
      for (const auto& placed : now.reference_rows.microbatches(m)) theirs.insert(placed.row->data_digest);
      for (const auto& placed : now.candidate_rows.microbatches(m)) {
        const std::string& mine = placed.row->data_digest;
        if (mine.empty()) continue;
        builder_.compare("digests");
        if (!theirs.contains(mine)) {
          differ(at_data(now.step, m), now.step, placed.rank, "data of microbatch " + std::to_string(m),
                 theirs.empty() ? "absent" : *theirs.rbegin(), mine);
        }
      }
    }
  }

  void rates(const StepEvidence& now) {
    const auto text = [](const StepRow& row) { return row.learning_rate ? to_text(*row.learning_rate) : "absent"; };
    const auto& theirs = now.reference_rows.steps();
    const std::string expected = theirs.empty() ? "absent" : text(*theirs.front().row);
    for (const auto& placed : now.candidate_rows.steps()) {
      builder_.compare("learning_rates");
      if (text(*placed.row) == expected) continue;
      differ(at_learning_rate(now.step), now.step, placed.rank, "learning_rate", expected, text(*placed.row));
    }
  }

  void differ(const ExecutionPoint& point, std::int64_t step, std::int64_t rank, const std::string& item,
              const std::string& expected, const std::string& got) {
    builder_.diverge(point, {.step = step,
                             .rank = rank,
                             .item = item,
                             .expected = expected,
                             .got = got,
                             .why = "not that with which the reference continues"});
  }

  std::int64_t kinds_ = 0;
};

std::optional<std::string> not_resumed(const CellPlan& plan, const Manifest& candidate) {
  if (candidate.first_step > 0 || (plan.request && plan.request->first_step.value_or(0) > 0)) return std::nullopt;
  return "the run began with step 0";
}

}  // namespace

CheckDescriptor resume_check() {
  return {.name = "resume",
          .place = 170,
          .claims =
              "what a resumed run began from is, in every parameter and optimiser moment, what the "
              "reference had after the step before, and its first step has that step's data and learning rate.",
          .needs_in_words =
              "level full, and a record that [begins after step 0](record-format.md#resumed-runs); else it does not "
              "apply. All other checks compare such a record with the reference from its first step on.",
          .cannot_see = "a step count that the optimiser lost: it shows in the first update (`parameters`, `audit`).",
          .level = RecordLevel::full,
          .needs = {"parameters", "moments"},
          .compares_without = {"inputs", "labels"},
          .not_applicable = not_resumed,
          .make = make_check<ResumeCheck>};
}

}  // namespace plumbline::judging
