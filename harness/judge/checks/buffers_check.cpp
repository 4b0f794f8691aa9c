// SPDX-License-Identifier: BSD-3-Clause
// buffers (R5): the persistent buffers of the model, at the start and after each step.
#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/diff/diff.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

class BuffersCheck : public StepCheck {
 public:
  explicit BuffersCheck(const CellEvidence& evidence) : StepCheck(evidence, {"buffers", "R5", "0 ULP"}) {}

  void step(const StepEvidence& now) override {
    const bool theirs = has_buffers(now.facts.reference), mine = has_buffers(now.facts.candidate);
    if (theirs && mine) compare_claim(now, "buffers", builder_);
    if (theirs != mine) only_in_ = mine ? "candidate" : "reference";
  }

  LocatedResult conclude() override {
    if (!only_in_.empty())
      return builder_.conclude_as(
          Outcome::incomplete,
          fmt::format("only the {} has buffers; if you record stages by hand, pass record.stage(..., buffers=)",
                      only_in_));
    if (builder_.count("buffers") == 0 && evidence_.not_recorded.empty())
      return builder_.conclude_as(Outcome::does_not_apply, "neither record has persistent buffers");
    return builder_.conclude("the persistent buffers have the same bits at the start and after each step", {});
  }

 private:
  static bool has_buffers(const Facts& facts) { return !of_column(facts, Column::buffer).empty(); }

  std::string only_in_;  ///< the record that alone has buffers
};

}  // namespace

CheckDescriptor buffers_check() {
  return {.name = "buffers",
          .place = 108,
          .claims =
              "every persistent buffer of the model (running statistics, counters, an expert's bias) has the "
              "same bits at the start and after each step.",
          .needs_in_words = "external records whose models have persistent buffers.",
          .cannot_see = "buffers that are not persistent.",
          .level = RecordLevel::full,
          .same_start = true,
          .values = Values::of_update,
          .compares_without = {"buffers"},
          .make = make_check<BuffersCheck>};
}

}  // namespace plumbline::judging
