// variable_lengths: what crossed a cut has the shape of its own microbatch, not of another's. Whether the lengths
// differ in the ways that let the other checks see a mix-up is the bench's to say (harness/judge/bench.hpp).
#include <set>

#include "harness/judge/checks/checks.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// Kinds of shapes among the microbatches: with one, a shape that belongs to another microbatch looks right.
void count_lengths(const CellEvidence& evidence, Judgement& judgement) {
  std::set<std::pair<std::int64_t, std::int64_t>> shapes;
  for (std::int64_t step = 0; step < evidence.steps(); ++step) {
    for (std::int64_t m = 0; m < evidence.microbatches(); ++m) {
      const auto& rows = evidence.reference_rows.microbatches(step, m);
      if (!rows.empty()) shapes.emplace(rows.front().row->batch, rows.front().row->sequence_length);
    }
  }
  judgement.look_at("shapes", std::ssize(shapes));
}

void compare_shape(const CellEvidence& evidence, const BoundaryRow& row, Judgement& judgement) {
  const auto& sizes = evidence.reference_rows.microbatches(row.step, row.microbatch);
  if (sizes.empty()) return;
  judgement.compare("boundary_shapes");
  const Shape expected = {sizes.front().row->batch, sizes.front().row->sequence_length, evidence.model.hidden};
  if (row.shape == expected) return;
  FirstDivergence divergence;
  divergence.step = row.step;
  divergence.microbatch = row.microbatch;
  divergence.direction = row.direction;
  divergence.item = row.cut;
  divergence.expected = shape_text(expected);
  divergence.got = shape_text(row.shape);
  divergence.words = row.direction + " boundary at " + row.cut + ", " + step_words(row.step, row.microbatch) +
                     ", has shape " + divergence.got + "; the microbatch makes it " + divergence.expected;
  const auto cut = evidence.model.unit_position(row.cut).value_or(0);
  judgement.diverge(row.direction == "backward" ? at_backward(row.step, row.microbatch, cut, 0)
                                                : at_forward(row.step, row.microbatch, cut, 0),
                    std::move(divergence));
}

}  // namespace

Judged check_variable_lengths(const CellEvidence& evidence) {
  Judgement judgement("variable_lengths", "variable_lengths",
                      "exact: batch x sequence length of the microbatch x hidden size, at every cut");
  count_lengths(evidence, judgement);
  for (const auto& placed : evidence.reference_rows.all_boundaries()) compare_shape(evidence, *placed.row, judgement);
  for (const auto& placed : evidence.candidate_rows.all_boundaries()) compare_shape(evidence, *placed.row, judgement);
  if (evidence.stages.crossings.empty()) {
    return judgement.conclude("one stage holds the whole model: nothing crosses a cut, whatever its length",
                              {{"shapes", 1}});
  }
  if (judgement.count("shapes") < 2) {
    return judgement.conclude_as(Outcome::not_triggered,
                                 "all microbatches have one shape, so that another one's looks right");
  }
  return judgement.conclude("every tensor that crosses a cut has the shape of its own microbatch",
                            {{"boundary_shapes", 1}});
}

}  // namespace plumbline::judging
