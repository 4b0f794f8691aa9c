// SPDX-License-Identifier: BSD-3-Clause
// gradients (R3): the gradient of every parameter, accumulated over the step, before clipping.
// applied (R4): the gradient of every parameter as the optimizer receives it, after clipping.

#include <fmt/format.h>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/diff/diff.hpp"
#include "harness/judge/facts/expected.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

class GradientsCheck : public StepCheck {
 public:
  explicit GradientsCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"gradients", "R3", evidence.values->demand()}) {}

  void step(const StepEvidence& now) override {
    if (now.step < 0) return;
    if (first_ && !now.skipped()) {
      none_told_ = without_gradients(now);
      first_ = false;
    }
    if (none_told_ && without_gradients(now)) return;
    compare_claim(now, "gradients", builder_);
  }

  LocatedResult conclude() override {
    if (none_told_) return builder_.conclude_as(Outcome::incomplete, no_gradient_compared);
    if (evidence_.steps() < 2) builder_.not_shown("a gradient kept from the step before (the run has only one step)");
    if (builder_.count(absent_in_both) > 0)
      builder_.not_shown("dropped gradients of parameters that no step changes and neither record has a gradient of");
    const auto parameters =
        static_cast<std::int64_t>(evidence_.model.parameters.size() - evidence_.candidate.manifest.frozen.size());
    return builder_.conclude(fmt::format("the gradients of {} in {} are {}", quantity(parameters, "parameter"),
                                         quantity(evidence_.compared_steps(), "step"), evidence_.values->agreement()),
                             {});
  }

 private:
  bool none_told_ = false;  ///< in the first step that was not skipped; then a gradient in a later one is unexpected
  bool first_ = true;
};

}  // namespace

CheckDescriptor gradients_check() {
  return {
      .name = "gradients",
      .claims = "every parameter's gradient, summed over the step, before clipping, has the same bits.",
      .reports =
          "the differing gradient nearest to the end of the model, where a fault within a stage begins, and the common "
          "ratio of all `l2`: \"all gradients of step 0 are 4 times the reference's: as many as microbatches\".",
      .cannot_see =
          "a gradient that is right but never applied (`parameters`), or wrong in both runs (`audit`, "
          "goldens).",
      .level = RecordLevel::full,
      .same_start = true,
      .values = Values::before_update,
      .compares_without = {"gradients"},
      .make = make_check<GradientsCheck>};
}

namespace {

class AppliedCheck : public StepCheck {
 public:
  explicit AppliedCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"applied", "R4", evidence.values->demand()}) {}

  void step(const StepEvidence& now) override {
    if (now.step < 0 || now.skipped()) return;
    const bool theirs = has_rows(now.reference_rows), mine = has_rows(now.candidate_rows);
    if (theirs && mine) {
      compare_claim(now, "applied", builder_);
      ++compared_;
    } else {
      lacking_ = true;
      one_has_rows_ = one_has_rows_ || theirs || mine;
    }
  }

  LocatedResult conclude() override {
    if (compared_ == 0 && !one_has_rows_ && evidence_.not_recorded.empty())
      return builder_.conclude_as(Outcome::does_not_apply,
                                  "neither record has the gradients that an optimizer received");
    if (lacking_)
      return builder_.conclude_as(
          Outcome::incomplete,
          "some steps of a record lack the gradients that its optimizer received; the other steps agree");
    return builder_.conclude(fmt::format("the gradients that the optimizers received in {} are {}",
                                         quantity(compared_, "step"), evidence_.values->agreement()),
                             {});
  }

 private:
  static bool has_rows(const RecordIndex& rows) {
    return std::ranges::any_of(rows.all_tensors(), [](const auto& placed) { return placed.row->kind == "applied"; });
  }

  std::int64_t compared_ = 0;
  bool lacking_ = false, one_has_rows_ = false;
};

}  // namespace

CheckDescriptor applied_check() {
  return {.name = "applied",
          .claims = "every parameter's gradient has the same bits when the optimizer receives it, after clipping.",
          .needs_in_words = "external records of optimizers whose steps were watched.",
          .cannot_see = "whether the optimizer uses it correctly (`parameters`).",
          .level = RecordLevel::full,
          .same_start = true,
          .values = Values::of_update,
          .compares_without = {"applied"},
          .make = make_check<AppliedCheck>};
}

}  // namespace plumbline::judging
