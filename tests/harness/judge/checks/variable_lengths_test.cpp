// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

TEST(VariableLengths, AShapeOfAnotherMicrobatchIsFoundAtItsCut) {
  for (const auto& [direction, side] : {std::pair{"backward", "send"}, {"forward", "receive"}}) {
    SyntheticCell cell;
    auto& row = boundary_row(cell.candidate, 0, 2, direction, "layers.1", side);
    row.shape = {1, 3, 4};
    row.bytes = 48;

    const auto verdict = cell.judge();

    EXPECT_EQ(with_outcome(verdict, Outcome::differs), (std::vector<std::string>{"boundaries", "variable_lengths"}));
    expect_finding(result_of(verdict, "variable_lengths").first_divergence.value(),
                   {.microbatch = 2,
                    .direction = direction,
                    .words = "not the shape of its microbatch (expected 1x4x4, got 1x3x4)"});
    expect_finding(result_of(verdict, "boundaries").first_divergence.value(),
                   {.microbatch = 2, .words = "expected 1x4x4, got 1x3x4"});
  }
}

void make_lengths_equal(SyntheticRun& run) {
  for (auto& rank : run.ranks) {
    std::int64_t valid_of_step = 0;
    for (auto& row : rank.microbatches) {
      row.sequence_length = row.tokens = 3;
      row.valid_tokens = std::min<std::int64_t>(row.valid_tokens, 3);
      if (row.step == 0) valid_of_step += row.valid_tokens;
    }
    for (auto& row : rank.steps) {
      row.tokens = 3 * synthetic_microbatches;
      row.valid_tokens = valid_of_step;
    }
    for (auto& row : rank.traffic) row.bytes = 48 * row.operations;
    for (auto& row : rank.boundaries) {
      row.shape = {1, 3, 4};
      row.bytes = 48;
    }
  }
}

// A user's own data: what they cannot show is told, and keeps nothing from holding.
TEST(VariableLengths, EqualLengthsAreNotTriggeredAndRequiredOnABenchAlone) {
  for (const bool bench : {false, true}) {
    SyntheticCell cell;
    cell.plan.bench = bench;
    make_lengths_equal(cell.reference);
    make_lengths_equal(cell.candidate);

    const auto result = expect_outcome(cell, "variable_lengths", Outcome::incomplete);
    EXPECT_EQ(result.required, bench);
    EXPECT_EQ(is_blocking(result), bench);
  }
}

TEST(VariableLengths, AtOneRankNothingCrosses) {
  SyntheticCell cell(one_stage());

  EXPECT_EQ(result_of(cell.judge(), "variable_lengths").outcome, Outcome::holds);
}

}  // namespace
}  // namespace plumbline::testing
