// SPDX-License-Identifier: BSD-3-Clause
// variable_lengths: boundary tensors have the shape of their own microbatch. The check bench
// (harness/judge/data_coverage.hpp) states whether the lengths differ enough for other checks to detect a mix-up.
#include <fmt/format.h>

#include <set>

#include "harness/judge/checks/checks.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

class VariableLengthsCheck : public StepCheck {
 public:
  explicit VariableLengthsCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"variable_lengths", "variable_lengths",
                             "exact: batch x sequence length of the microbatch x hidden size, at every boundary"}) {}

  void step(const StepEvidence& now) override {
    if (now.step < 0 || !evidence_.model.llama) return;
    note_shapes(now);
    for (const auto* rows : {&now.reference_rows, &now.candidate_rows}) {
      for (const auto& placed : rows->all_boundaries()) compare_shape(now, *placed.row);
    }
  }

  LocatedResult conclude() override {
    if (!evidence_.model.llama)
      return builder_.conclude_as(Outcome::does_not_apply,
                                  "the boundary tensors of this model have their own shapes: see boundaries");
    builder_.inspect("shapes", std::ssize(shapes_));
    if (evidence_.stages.crossings.empty()) {
      return builder_.conclude("one stage holds the whole model: nothing crosses a stage boundary", {{"shapes", 1}});
    }
    if (builder_.count("shapes") < 2) {
      return builder_.conclude_as(Outcome::incomplete,
                                  "all microbatches have one shape, so another microbatch's would pass");
    }
    return builder_.conclude("every tensor that crosses a stage boundary has the shape of its own microbatch",
                             {{"boundary_shapes", 1}});
  }

 private:
  void note_shapes(const StepEvidence& now) {
    for (std::int64_t m = 0; m < evidence_.microbatches(); ++m) {
      if (const auto* row = now.reference_rows.microbatch(m)) shapes_.emplace(row->batch, row->sequence_length);
    }
  }

  void compare_shape(const StepEvidence& now, const BoundaryRow& row) {
    const MicrobatchRow* sizes = now.reference_rows.microbatch(row.microbatch);
    if (!sizes) return;
    builder_.compare("boundary_shapes");
    const Shape expected = {sizes->batch, sizes->sequence_length, evidence_.model.hidden};
    if (row.shape == expected) return;
    const auto cut = evidence_.model.unit_position(row.cut).value_or(0);
    builder_.diverge(at_boundary(row.step, row.microbatch, row.direction, cut),
                     {.step = row.step,
                      .microbatch = row.microbatch,
                      .direction = row.direction,
                      .item = row.cut,
                      .what = fmt::format("{} boundary {}", row.direction, row.cut),
                      .expected = shape_text(expected),
                      .got = shape_text(row.shape),
                      .why = "not the shape of its microbatch"});
  }

  /// Number of distinct shapes among the microbatches: with one, another microbatch's shape looks correct.
  std::set<std::pair<std::int64_t, std::int64_t>> shapes_;
};

std::optional<std::string> equal_lengths_asked_for(const CellPlan& plan, const Manifest& candidate) {
  std::int64_t microbatches = candidate.microbatches;
  if (plan.request && plan.request->microbatches) {
    microbatches = std::ssize(*plan.request->microbatches);
  } else if (plan.request) {
    microbatches = plan.request->microbatch_count.value_or(microbatches);
  }
  if (microbatches == 1) return "a step has one microbatch: its length cannot vary";
  if (asks_for_equal_lengths(plan)) return "the sweep asks for equal lengths in this case";
  return std::nullopt;
}

}  // namespace

CheckDescriptor variable_lengths_check() {
  return {.name = "variable_lengths",
          .place = 140,
          .claims = "what crosses a stage boundary has the shape of its own microbatch.",
          .needs_in_words = "several microbatches; if equal lengths were requested it does not apply.",
          .cannot_see = "values.",
          .level = RecordLevel::full,
          .required = Required::on_bench_alone,
          .needs_of_reference = {"inputs", "labels"},
          .compares_without = {"sends", "receives", "boundaries"},
          .not_applicable = equal_lengths_asked_for,
          .make = make_check<VariableLengthsCheck>};
}

}  // namespace plumbline::judging
