// SPDX-License-Identifier: BSD-3-Clause
// applied (R4): the gradient of every parameter as the optimizer receives it, after clipping.
#include <fmt/format.h>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/diff/diff.hpp"
#include "harness/judge/facts/tensor_rules.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
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
          .place = 95,
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
