// SPDX-License-Identifier: BSD-3-Clause
// resume (R6): a resumed run begins with the reference's state and position in the data.
#include <fmt/format.h>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/diff/diff.hpp"

namespace plumbline::judging {
namespace {

class ResumeCheck : public StepCheck {
 public:
  explicit ResumeCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"resume", "R6", "0 ULP: the resumed state is the state after the step before"}) {}

  void step(const StepEvidence& now) override {
    if (evidence_.first_step() == 0) return;  // it should have resumed, but started from the beginning
    if (now.step < 0)
      return compare_columns(now, {Column::parameter, Column::copy, Column::moment1, Column::moment2}, builder_);
    if (now.step != evidence_.first_step()) return;
    compare_columns(now, {Column::ids, Column::rate, Column::rate_of_parameter}, builder_);
  }

  LocatedResult conclude() override {
    if (evidence_.first_step() == 0)
      return builder_.conclude_as(Outcome::incomplete, "the record begins with step 0: the run did not resume");
    return builder_.conclude(fmt::format("the run resumed at step {} with the reference's parameters and optimizer "
                                         "state, and with that step's data and learning rate",
                                         evidence_.first_step()),
                             {});
  }
};

std::optional<std::string> not_resumed(const CellPlan& plan, const Manifest& candidate) {
  if (candidate.first_step > 0 || (plan.request && plan.request->first_step.value_or(0) > 0)) return std::nullopt;
  return "the run started at step 0";
}

}  // namespace

CheckDescriptor resume_check() {
  return {
      .name = "resume",
      .place = 170,
      .claims =
          "a resumed run starts with the parameters and optimizer moments that the reference had after the step "
          "before, and its first step uses that step's data and learning rate.",
      .needs_in_words =
          "a record that [begins after step 0](record-format.md#resumed-runs). All other checks compare it with the "
          "reference from its first step on.",
      .cannot_see = "a lost step count of the optimizer; it shows in the first update (`parameters`, `audit`).",
      .level = RecordLevel::full,
      .needs = {"parameters", "moments"},
      .compares_without = {"inputs", "labels"},
      .not_applicable = not_resumed,
      .make = make_check<ResumeCheck>};
}

}  // namespace plumbline::judging
