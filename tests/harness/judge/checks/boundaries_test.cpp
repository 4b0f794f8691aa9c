#include <gmock/gmock.h>

#include "support/hash.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Place {
  std::int64_t step, microbatch;
  std::string direction, cut;
};

/// Only `boundaries` is red, at this place.
FirstDivergence expect_boundaries_red(SyntheticCell& cell, const Place& place) {
  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("boundaries"));
  if (!verdict.first_divergence) return {};
  const auto& found = *verdict.first_divergence;
  EXPECT_EQ(found.rung, "R2");
  EXPECT_EQ(found.step, place.step);
  EXPECT_EQ(found.microbatch, place.microbatch);
  EXPECT_EQ(found.direction, place.direction);
  EXPECT_EQ(found.item, place.cut);
  return found;
}

TEST(Boundaries, BitsAsSent) {
  SyntheticCell cell;
  boundary_row(cell.candidate, 0, 1, "forward", "layers.1", "send").digest = other_digest;

  const auto found = expect_boundaries_red(cell, {0, 1, "forward", "layers.1"});

  EXPECT_EQ(found.rank, 0);
  EXPECT_THAT(found.words, HasSubstr("as sent"));
}

TEST(Boundaries, BitsAsReceivedThoughSentRightly) {
  SyntheticCell cell;
  boundary_row(cell.candidate, 1, 3, "backward", "layers.1", "receive").digest = other_digest;

  const auto found = expect_boundaries_red(cell, {1, 3, "backward", "layers.1"});

  EXPECT_EQ(found.rank, 0);
  EXPECT_EQ(found.stage, 0);
  EXPECT_THAT(found.words, HasSubstr("as received"));
}

TEST(Boundaries, NarrowedOnTheWireIsAnotherDtype) {
  SyntheticCell cell;
  for (const char* side : {"send", "receive"}) {
    auto& row = boundary_row(cell.candidate, 0, 0, "forward", "layers.1", side);
    row.dtype = "bfloat16", row.bytes /= 2, row.digest = other_digest;
  }

  EXPECT_THAT(expect_boundaries_red(cell, {0, 0, "forward", "layers.1"}).words, HasSubstr("dtype"));
}

TEST(Boundaries, TruncatedTokenIsAnotherShape) {
  SyntheticCell cell;
  boundary_row(cell.candidate, 0, 2, "forward", "layers.1", "receive").shape = {1, 3, 4};

  const auto found = cell.judge();

  EXPECT_THAT(with_outcome(found, Outcome::fails), ElementsAre("boundaries", "variable_lengths"));
  EXPECT_EQ(result_of(found, "boundaries").first_divergence->microbatch, 2);
  EXPECT_THAT(result_of(found, "boundaries").reason, HasSubstr("expected 1x4x4, got 1x3x4"));
}

TEST(Boundaries, TwoMicrobatchesSwappedInAccordAreFoundAndCalledThat) {
  SyntheticCell cell;
  auto &first = boundary_row(cell.candidate, 0, 0, "forward", "layers.1", "receive").digest,
       &second = boundary_row(cell.candidate, 0, 3, "forward", "layers.1", "receive").digest;
  std::swap(first, second);

  EXPECT_THAT(expect_boundaries_red(cell, {0, 0, "forward", "layers.1"}).words,
              HasSubstr("the tensor of step 0, microbatch 3"));
}

TEST(Boundaries, StaleTensorOfTheStepBeforeIsCalledThat) {
  SyntheticCell cell;
  boundary_row(cell.candidate, 1, 2, "backward", "layers.1", "receive").digest =
      boundary_row(cell.candidate, 0, 2, "backward", "layers.1", "send").digest;

  EXPECT_THAT(expect_boundaries_red(cell, {1, 2, "backward", "layers.1"}).words,
              HasSubstr("the tensor of step 0, microbatch 2"));
}

TEST(Boundaries, BackwardRunsFromTheLastCutToTheFirst) {
  SyntheticCell cell(with_empty_stage());
  for (const char* cut : {"layers.1", "norm"}) {
    for (const char* side : {"send", "receive"})
      boundary_row(cell.candidate, 0, 0, "backward", cut, side).digest = other_digest;
  }

  const auto verdict = cell.judge();

  EXPECT_EQ(verdict.first_divergence->item, "norm");
  EXPECT_EQ(verdict.first_divergence->direction, "backward");
  EXPECT_THAT(verdict.first_divergence->words, HasSubstr("as sent"));
}

TEST(Boundaries, MissingReceive) {
  SyntheticCell cell;
  std::erase_if(cell.candidate.ranks[1].boundaries,
                [](const auto& row) { return row.step == 0 && row.microbatch == 4 && row.side == "receive"; });

  EXPECT_THAT(expect_boundaries_red(cell, {0, 4, "forward", "layers.1"}).words, HasSubstr("no receive row"));
}

TEST(Boundaries, OneRowTooMany) {
  SyntheticCell cell;
  auto row = boundary_row(cell.candidate, 1, 1, "forward", "layers.1", "send");
  cell.candidate.ranks[0].boundaries.push_back(row);

  EXPECT_THAT(expect_boundaries_red(cell, {1, 1, "forward", "layers.1"}).words, HasSubstr("one too many"));
}

TEST(Boundaries, ReferenceWithoutItsOwnTensorAtTheCut) {
  SyntheticCell cell;
  std::erase_if(cell.reference.ranks[0].boundaries,
                [](const auto& row) { return row.step == 1 && row.microbatch == 0 && row.cut == "layers.1"; });

  EXPECT_THAT(expect_boundaries_red(cell, {1, 0, "forward", "layers.1"}).words,
              HasSubstr("the reference records no tensor"));
}

TEST(Boundaries, TrafficThatTheListDoesNotGiveNamesTheEdge) {
  SyntheticCell cell;
  cell.candidate.ranks[0].traffic[1].bytes += 4;

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("boundaries"));
  EXPECT_EQ(verdict.first_divergence->item, "rank 0 -> rank 1");
  EXPECT_THAT(verdict.first_divergence->expected, HasSubstr("5 operations, 208 bytes"));  // 13 tokens x 4 x 4 bytes
}

TEST(Boundaries, TrafficThatWasNotCounted) {
  SyntheticCell cell;
  std::erase_if(cell.candidate.ranks[1].traffic,
                [](const auto& row) { return row.step == 1 && row.side == "receive"; });

  EXPECT_THAT(with_outcome(cell.judge(), Outcome::fails), ElementsAre("boundaries"));
}

TEST(Boundaries, WorldSizeOneMovesNothing) {
  SyntheticCell cell(one_stage());
  cell.candidate.ranks[0].traffic.push_back({0, 0, "forward", "send", 1, 48});

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("boundaries"));
}

TEST(Boundaries, AnotherFactorOnBoundaryGradientsIsNotHiddenAsAHold) {
  SyntheticCell cell;
  cell.candidate.manifest["loss_scaling"] = "after";
  cell.candidate.manifest["boundary_gradient_factor"] = 10;

  const auto verdict = cell.judge();

  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(result_of(verdict, "boundaries").outcome, Outcome::not_run);
}

TEST(Boundaries, LocalHandOverWithinARankIsOneRow) {
  SyntheticCell cell;
  auto& rows = cell.candidate.ranks[0].boundaries;
  const auto sent = boundary_row(cell.candidate, 0, 0, "forward", "layers.1", "send");
  rows.push_back(sent);
  rows.back().side = "local";

  EXPECT_EQ(expect_boundaries_red(cell, {0, 0, "forward", "layers.1"}).expected, "no row");
}

}  // namespace
}  // namespace plumbline::testing
