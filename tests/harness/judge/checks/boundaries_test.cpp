// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "harness/judge/expected/zero_digests.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_csv.hpp"
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

/// The reader refuses the candidate's rank 0, and the verdict names file, line and step.
void expect_refused(SyntheticCell& cell, const std::string& file, std::int64_t step, const std::string& words) {
  const auto verdict = cell.judge();

  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("completion"));
  EXPECT_THAT(result_of(verdict, "completion").reason, HasSubstr("candidate/" + file + words));
  ASSERT_TRUE(verdict.first_divergence);
  EXPECT_EQ(verdict.first_divergence->item, file);
  EXPECT_EQ(verdict.first_divergence->rank, 0);
  EXPECT_EQ(verdict.first_divergence->step, step);
}

/// Only `boundaries` is red, at this place.
Finding expect_boundaries_red(SyntheticCell& cell, const Place& place) {
  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("boundaries"));
  if (!verdict.first_divergence) return {};
  const auto& found = *verdict.first_divergence;
  EXPECT_EQ(found.level, "R2");
  EXPECT_EQ(found.step, place.step);
  EXPECT_EQ(found.microbatch, place.microbatch);
  EXPECT_EQ(found.direction, place.direction);
  EXPECT_EQ(found.item, place.cut);
  return found;
}

TEST(Boundaries, EachWayInWhichOneIsWrongIsToldAtItsPlace) {
  struct Case {
    void (*change)(SyntheticCell&);
    Place place;
    const char* words;
    std::optional<std::int64_t> rank;
  };
  const std::vector<Case> cases = {
      {[](auto& cell) { boundary_row(cell.candidate, 0, 1, "forward", "layers.1", "send").digest = other_digest; },
       {0, 1, "forward", "layers.1"},
       "as sent",
       0},
      {[](auto& cell) {  // though sent rightly
         boundary_row(cell.candidate, 1, 3, "backward", "layers.1", "receive").digest = other_digest;
       },
       {1, 3, "backward", "layers.1"},
       "as received",
       0},
      {[](auto& cell) {  // narrowed on the wire
         for (const char* side : {"send", "receive"}) {
           auto& row = boundary_row(cell.candidate, 0, 0, "forward", "layers.1", side);
           row.dtype = "bfloat16", row.bytes /= 2, row.digest = other_digest;
         }
       },
       {0, 0, "forward", "layers.1"},
       "dtype",
       0},
      {[](auto& cell) {  // two microbatches swapped in accord
         std::swap(boundary_row(cell.candidate, 0, 0, "forward", "layers.1", "receive").digest,
                   boundary_row(cell.candidate, 0, 3, "forward", "layers.1", "receive").digest);
       },
       {0, 0, "forward", "layers.1"},
       "the tensor of step 0, microbatch 3",
       1},
      {[](auto& cell) {  // stale
         boundary_row(cell.candidate, 1, 2, "backward", "layers.1", "receive").digest =
             boundary_row(cell.candidate, 0, 2, "backward", "layers.1", "send").digest;
       },
       {1, 2, "backward", "layers.1"},
       "the tensor of step 0, microbatch 2",
       0},
      {[](auto& cell) {
         std::erase_if(cell.candidate.ranks[1].boundaries,
                       [](const auto& row) { return row.step == 0 && row.microbatch == 4 && row.side == "receive"; });
       },
       {0, 4, "forward", "layers.1"},
       "no receive row",
       1},
      {[](auto& cell) {
         std::erase_if(cell.reference.ranks[0].boundaries,
                       [](const auto& row) { return row.step == 1 && row.microbatch == 0 && row.cut == "layers.1"; });
       },
       {1, 0, "forward", "layers.1"},
       "the reference records no tensor",
       std::nullopt}};
  for (const auto& [change, place, words, rank] : cases) {
    SCOPED_TRACE(words);
    SyntheticCell cell;
    change(cell);
    const auto found = expect_boundaries_red(cell, place);
    EXPECT_EQ(found.rank, rank);
    EXPECT_THAT(found.words, HasSubstr(words));
  }
}

TEST(Boundaries, TruncatedTokenIsAnotherShape) {
  SyntheticCell cell;
  auto& row = boundary_row(cell.candidate, 0, 2, "forward", "layers.1", "receive");
  row.shape = {1, 3, 4}, row.bytes = 3 * 4 * 4;

  const auto found = cell.judge();

  EXPECT_THAT(with_outcome(found, Outcome::fails), ElementsAre("boundaries", "variable_lengths"));
  EXPECT_EQ(result_of(found, "boundaries").first_divergence->microbatch, 2);
  EXPECT_THAT(result_of(found, "boundaries").reason, HasSubstr("expected 1x4x4, got 1x3x4"));
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

TEST(Boundaries, OneRowTooMany) {
  SyntheticCell cell;
  const auto row = boundary_row(cell.candidate, 1, 1, "forward", "layers.1", "send");
  cell.candidate.ranks[1].boundaries.push_back(row);  // which did not send it

  const auto found = expect_boundaries_red(cell, {1, 1, "forward", "layers.1"});

  EXPECT_EQ(found.rank, 1);
  EXPECT_THAT(found.words, HasSubstr("or a duplicate"));
}

TEST(Boundaries, TheSameRowTwiceIsNotEvenRead) {
  SyntheticCell cell;
  const auto row = boundary_row(cell.candidate, 1, 1, "forward", "layers.1", "send");
  cell.candidate.ranks[0].boundaries.push_back(row);

  expect_refused(cell, "rank-0/boundaries.csv", 1,
                 ":22: a second row of the same key: step 1, microbatch 1, direction forward, cut layers.1");
}

TEST(Boundaries, TrafficThatWasNotCounted) {
  SyntheticCell cell;
  std::erase_if(cell.candidate.ranks[1].traffic,
                [](const auto& row) { return row.step == 1 && row.side == "receive"; });

  EXPECT_THAT(with_outcome(cell.judge(), Outcome::fails), ElementsAre("boundaries"));
}

TEST(Boundaries, WorldSizeOneMovesNothing) {
  SyntheticCell to_another(one_stage()), to_itself(one_stage());
  to_another.candidate.ranks[0].traffic.push_back({1, 1, "forward", "send", 1, 48});
  to_itself.candidate.ranks[0].traffic.push_back({0, 0, "forward", "send", 1, 48});

  expect_refused(to_another, "rank-0/traffic.csv", 1, ":2: column 'peer': '1' is not a rank of this run");
  expect_refused(to_itself, "rank-0/traffic.csv", 0, ":2: column 'peer': '0' is the rank itself");
}

TEST(Boundaries, AtOneStageNothingCrosses) {
  SyntheticCell cell(one_stage());
  auto row = boundary_row(cell.reference, 1, 2, "backward", "layers.1", "computed");
  row.side = "local", row.from_stage = 0, row.to_stage = 0, row.peer = 0;
  cell.candidate.ranks[0].boundaries.push_back(row);

  EXPECT_THAT(expect_boundaries_red(cell, {1, 2, "backward", "layers.1"}).words,
              HasSubstr("a local that the partition does not imply"));
}

TEST(Boundaries, AnotherFactorOnBoundaryGradientsIsNotHiddenAsAHold) {
  const std::vector<std::pair<std::string, Json>> others{{"loss_scaling", "after"}, {"boundary_gradient_factor", 10}};
  for (const auto& [key, value] : others) {  // either of the two
    SyntheticCell cell;
    cell.candidate.manifest[key] = value;

    const auto verdict = cell.judge();

    EXPECT_FALSE(verdict.holds) << key;
    EXPECT_EQ(result_of(verdict, "boundaries").outcome, Outcome::not_run) << key;
  }
}

TEST(Boundaries, LocalHandOverWithinARankIsOneRow) {
  SyntheticCell cell;
  auto& rows = cell.candidate.ranks[0].boundaries;
  const auto sent = boundary_row(cell.candidate, 0, 0, "forward", "layers.1", "send");
  rows.push_back(sent);
  rows.back().side = "local";

  EXPECT_EQ(expect_boundaries_red(cell, {0, 0, "forward", "layers.1"}).expected, "no row");
}

TEST(Boundaries, TheReferenceHasNoCutThatTheModelLacks) {
  SyntheticCell cell;
  auto row = boundary_row(cell.reference, 1, 2, "forward", "norm", "computed");
  row.cut = "layers.7";
  cell.reference.ranks[0].boundaries.push_back(row);

  EXPECT_EQ(expect_boundaries_red(cell, {1, 2, "forward", "layers.7"}).expected, "no such boundary in this model");
}

TEST(Boundaries, OfZerosAloneShowNothing) {
  SyntheticCell cell;
  judging::ZeroDigests zeros;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) {
      for (auto& row : rank.boundaries) row.digest = zeros.digest(row.dtype, row.shape);
    }
  }

  const auto verdict = cell.judge();

  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(to_text(result_of(verdict, "boundaries").outcome), "not_triggered");
}

TEST(Boundaries, TwoPipelinesWithoutACommonCutCannotBeCompared) {
  SyntheticPlan other;
  other.stages = {{"embed_tokens"}, {"layers.0", "layers.1", "norm", "lm_head"}};
  SyntheticCell cell;
  cell.reference = synthetic_candidate(other);
  cell.reference.manifest["run_id"] = new_run_id();
  for (auto& rank : cell.reference.ranks) {
    for (auto& row : rank.actions) row.end_ns += 1;  // no copy of the candidate
  }
  const auto result = result_of(cell.judge(), "boundaries");
  EXPECT_EQ(result.outcome, Outcome::not_applicable) << result.reason;
  EXPECT_THAT(result.reason, HasSubstr("no stage boundary in common"));
}

/// Another program's trainer on one device, which records the tensors at its cuts as our reference does.
struct OneDeviceCell : SyntheticCell {
  OneDeviceCell() {
    candidate = synthetic_reference({});
    candidate.manifest["role"] = "external";
    for (auto& rank : candidate.ranks) {
      for (auto& row : rank.actions) row.end_ns += 1;
    }
  }
  BoundaryRow& row(std::int64_t step, std::int64_t microbatch, const std::string& direction, const std::string& cut) {
    return boundary_row(candidate, step, microbatch, direction, cut, "computed");
  }
};

TEST(CutsOfOneDevice, AreComparedEachInBothDirections) {
  OneDeviceCell cell;

  const auto boundaries = result_of(cell.judge(), "boundaries");

  EXPECT_EQ(boundaries.outcome, Outcome::holds) << boundaries.reason;
  EXPECT_EQ(boundaries.compared.at("tensors"), 2 * 4 * synthetic_microbatches * synthetic_steps);
}

TEST(CutsOfOneDevice, OneThatDiffersIsToldWithItsPlace) {
  for (const char* direction : {"forward", "backward"}) {
    OneDeviceCell cell;
    cell.row(1, 2, direction, "norm").digest = other_digest;

    const auto found = result_of(cell.judge(), "boundaries").first_divergence.value();

    EXPECT_EQ(found.step, 1);
    EXPECT_EQ(found.microbatch, 2);
    EXPECT_EQ(found.direction, direction);
    EXPECT_EQ(found.rank, 0);
    EXPECT_EQ(found.got, other_digest);
    EXPECT_THAT(found.words, HasSubstr("norm"));
  }
}

TEST(CutsOfOneDevice, WhatIsRecordedOnceIsRecordedInEveryStepAndAtEveryCut) {
  OneDeviceCell cut, step;
  std::erase_if(cut.candidate.ranks[0].boundaries, [](const BoundaryRow& row) {
    return row.step == 1 && row.microbatch == 3 && row.direction == "backward" && row.cut == "layers.1";
  });
  std::erase_if(step.candidate.ranks[0].boundaries, [](const BoundaryRow& row) { return row.step == 0; });

  const auto missing = result_of(cut.judge(), "boundaries").first_divergence.value();
  EXPECT_EQ(missing.step, 1);
  EXPECT_EQ(missing.microbatch, 3);
  EXPECT_THAT(missing.words, HasSubstr("the candidate records no tensor at this boundary"));

  const auto result = result_of(step.judge(), "boundaries");
  EXPECT_EQ(result.first_divergence.value().step, 0);
  EXPECT_EQ(result.first_divergence.value().microbatch, 0);
  EXPECT_THAT(result.reason, HasSubstr("(41 differences in all")) << "with the number of tensors";
}

TEST(Boundaries, ATensorThatAPipelineComputedAtACutOfItsOwnIsComparedToo) {
  for (const bool right : {true, false}) {
    SyntheticCell cell;
    cell.candidate.manifest["role"] = "external";
    BoundaryRow row = boundary_row(cell.reference, 1, 2, "forward", "norm", "computed");
    if (!right) row.digest = other_digest;
    cell.candidate.ranks[1].boundaries.push_back(row);

    const auto result = result_of(cell.judge(), "boundaries");

    EXPECT_EQ(result.outcome, right ? Outcome::holds : Outcome::fails) << result.reason;
    EXPECT_EQ(result.inspected.at("computed"), 1);
    if (right) continue;
    EXPECT_EQ(result.first_divergence->step, 1);
    EXPECT_EQ(result.first_divergence->microbatch, 2);
    EXPECT_EQ(result.first_divergence->rank, 1);
  }
}

TEST(Boundaries, TrafficThatDiffersIsToldOnEitherSideWithItsEdge) {
  struct Case {
    std::size_t rank;
    std::string direction, side, item;
  };
  const std::vector<Case> cases = {{0, "forward", "send", "rank 0 -> rank 1"},
                                   {1, "forward", "receive", "rank 0 -> rank 1"},
                                   {1, "backward", "send", "rank 1 -> rank 0"},
                                   {0, "backward", "receive", "rank 1 -> rank 0"}};
  for (const auto& each : cases) {
    SyntheticCell cell;
    for (TrafficRow& row : cell.candidate.ranks[each.rank].traffic) {
      if (row.step == 1 && row.direction == each.direction && row.side == each.side) row.bytes += 4;
    }

    const auto found = result_of(cell.judge(), "boundaries").first_divergence.value();

    EXPECT_EQ(found.step, 1);
    EXPECT_EQ(found.rank, static_cast<std::int64_t>(each.rank));
    EXPECT_EQ(found.direction, each.direction);
    EXPECT_EQ(found.item, each.item);
    EXPECT_EQ(found.expected, "5 operations, 208 bytes");
    EXPECT_EQ(found.got, "5 operations, 212 bytes");
    EXPECT_THAT(found.words, HasSubstr(", " + each.side + ": not what the schedule implies"));
  }
}

TEST(Boundaries, TrafficIsCountedOfEveryRankInEveryStep) {
  SyntheticCell cell;

  const auto boundaries = result_of(cell.judge(), "boundaries");

  EXPECT_EQ(boundaries.inspected.at("ranks"), 2);
  EXPECT_EQ(boundaries.compared.at("traffic_edges"), 2 * 2 * synthetic_steps) << "to and from the one neighbour";
  EXPECT_EQ(boundaries.compared.at("bytes_moved"), 2 * 2 * synthetic_steps * 208);
  EXPECT_THAT(boundaries.reason, ::testing::Not(HasSubstr("not inspected")));
}

/// A microbatch of one position in step 0 and of two in step 1.
void lengthen(SyntheticRun& run) {
  for (auto& rank : run.ranks) {
    for (auto& row : rank.microbatches) {
      if (row.step == 1 && row.microbatch == 1) row.sequence_length = 2;
    }
    for (auto& row : rank.boundaries) {
      if (row.step == 1 && row.microbatch == 1) row.shape = {1, 2, 4}, row.bytes *= 2;
    }
  }
}

TEST(Boundaries, TrafficFollowsTheLengthsOfItsOwnStep) {
  for (const bool right : {true, false}) {
    SyntheticCell cell;
    lengthen(cell.reference);
    lengthen(cell.candidate);
    for (auto& rank : cell.candidate.ranks) {
      for (TrafficRow& row : rank.traffic) row.bytes += right && row.step == 1 ? 16 : 0;
    }

    const auto boundaries = result_of(cell.judge(), "boundaries");

    EXPECT_EQ(boundaries.outcome, right ? Outcome::holds : Outcome::fails) << boundaries.reason;
    if (right) continue;
    EXPECT_EQ(boundaries.first_divergence->step, 1);
    EXPECT_EQ(boundaries.first_divergence->expected, "5 operations, 224 bytes");
  }
}

TEST(Boundaries, TrafficThatAnExternalTrainerDoesNotCountIsLeftOut) {
  SyntheticCell cell;
  cell.candidate.manifest["role"] = "external";
  const auto reference = cell.write_reference(), candidate = cell.write_candidate();
  for (const char* rank : {"rank-0", "rank-1"}) std::filesystem::remove(candidate / rank / "traffic.csv");

  const auto boundaries = result_of(judge_cell(cell.plan, reference, candidate), "boundaries");

  EXPECT_EQ(boundaries.outcome, Outcome::holds) << boundaries.reason;
  EXPECT_THAT(boundaries.reason, HasSubstr("bytes moved (traffic.csv or schedule.csv is absent)"));
  EXPECT_FALSE(boundaries.compared.contains("traffic_edges"));
}

TEST(Boundaries, AListOfFewerRanksThanTheRecordHasIsNotFollowedBeyondItsEnd) {
  SyntheticCell cell(with_empty_stage());
  cell.candidate.schedule_csv = to_csv(make_schedule("1f1b", 2, synthetic_microbatches));
  cell.candidate.manifest["schedule"]["digest"] = hash_hex(cell.candidate.schedule_csv);

  const auto boundaries = result_of(cell.judge(), "boundaries");

  EXPECT_EQ(boundaries.inspected.at("ranks"), 2);
}

TEST(Boundaries, OfTwoPipelinesTheCutsOfOneAloneAreLeftOut) {
  SyntheticCell cell;
  cell.candidate = synthetic_candidate(with_empty_stage());
  cell.reference = synthetic_candidate({});
  for (auto& rank : cell.reference.ranks) {
    for (auto& row : rank.actions) row.end_ns += 1;  // no copy of the candidate
  }

  const auto boundaries = result_of(cell.judge(), "boundaries");

  EXPECT_EQ(boundaries.outcome, Outcome::holds) << boundaries.reason;
  EXPECT_THAT(boundaries.reason, HasSubstr("tensors at boundaries that only the candidate has"));
}

TEST(CutsOfOneDevice, OfWhichGradientsCarryAnotherFactorTheActivationsAreCompared) {
  for (const std::string direction : {"forward", "backward"}) {
    OneDeviceCell cell;
    cell.candidate.manifest["loss_scaling"] = "after";
    cell.row(1, 2, direction, "norm").digest = other_digest;

    const auto boundaries = result_of(cell.judge(), "boundaries");

    EXPECT_EQ(boundaries.outcome, direction == "forward" ? Outcome::fails : Outcome::holds) << boundaries.reason;
    if (direction == "forward") continue;
    EXPECT_THAT(boundaries.reason,
                HasSubstr("not inspected: gradients at the boundaries, which are scaled by another factor"));
  }
}

// One device computes no gradient where nothing before the cut is trained; a pipeline may send one all the same.
TEST(Boundaries, AGradientThatNothingNeedsIsHeldToWhatWasSent) {
  enum class Way { sent, not_sent, damaged, trained };
  for (const Way way : {Way::sent, Way::not_sent, Way::damaged, Way::trained}) {
    SyntheticPlan plan;
    plan.tied = false;
    SyntheticCell cell(plan);
    const auto unneeded = [](const BoundaryRow& row) { return row.direction == "backward" && row.cut == "layers.1"; };
    for (auto* run : {&cell.reference, &cell.candidate}) {
      run->manifest["role"] = "external";
      Json frozen = Json::array();
      for (const auto& rank : run->ranks) {
        for (const auto& row : rank.tensors)
          if (row.kind == "parameter" && row.step == -1 &&
              (row.name == embedding_weight || row.name.find("layers.0.") != std::string::npos))
            frozen.push_back(row.name);
      }
      if (way == Way::trained) frozen.erase(0);
      run->manifest["frozen"] = frozen;
      for (auto& rank : run->ranks)
        if (run == &cell.reference || way == Way::not_sent) std::erase_if(rank.boundaries, unneeded);
    }
    if (way == Way::damaged)
      boundary_row(cell.candidate, 1, 2, "backward", "layers.1", "receive").digest = other_digest;

    const auto result = result_of(cell.judge(), "boundaries");

    const bool right = way == Way::sent || way == Way::not_sent;
    EXPECT_EQ(result.outcome, right ? Outcome::holds : Outcome::fails) << result.reason;
  }
}

}  // namespace
}  // namespace plumbline::testing
