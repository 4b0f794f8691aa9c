// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <set>
#include <utility>

#include "harness/judge/expected/zero_digests.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_csv.hpp"
#include "support/hash.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

TEST(Boundaries, BackwardRunsFromTheLastCutToTheFirst) {
  SyntheticCell cell(with_empty_stage());
  for (const char* cut : {"layers.1", "norm"}) {
    for (const char* side : {"send", "receive"})
      boundary_row(cell.candidate, 0, 0, "backward", cut, side).digest = other_digest;
  }

  expect_finding(*cell.judge().first_divergence, {.direction = "backward", .item = "norm", .words = "as sent"});
}

TEST(Boundaries, RowsOutsideThePartitionAreReported) {
  expect_each_red(
      {"boundaries"},
      {{"of a rank that did not send it",
        [](auto& cell) {
          const auto row = boundary_row(cell.candidate, 1, 1, "forward", "layers.1", "send");
          cell.candidate.ranks[1].boundaries.push_back(row);
        },
        {.step = 1, .microbatch = 1, .rank = 1, .direction = "forward", .item = "layers.1", .words = "or a duplicate"}},
       {"a hand-over within a rank",
        [](auto& cell) {
          const auto sent = boundary_row(cell.candidate, 0, 0, "forward", "layers.1", "send");
          cell.candidate.ranks[0].boundaries.push_back(sent);
          cell.candidate.ranks[0].boundaries.back().side = "local";
        },
        {.step = 0, .microbatch = 0, .direction = "forward", .item = "layers.1", .expected = "no row"}},
       {"of the reference, at a boundary that the model lacks",
        [](auto& cell) {
          auto row = boundary_row(cell.reference, 1, 2, "forward", "norm", "computed");
          row.cut = "layers.7";
          cell.reference.ranks[0].boundaries.push_back(row);
        },
        {.step = 1, .microbatch = 2, .item = "layers.7", .expected = "no such boundary in this model"}}});
}

TEST(Boundaries, AFactorOnBoundaryGradientsHidesNoDifference) {
  const std::vector<std::pair<std::string, Json>> others{{"loss_scaling", "after"}, {"boundary_gradient_factor", 10}};
  for (const auto& [key, value] : others) {  // either of the two
    SyntheticCell cell;
    cell.candidate.manifest["role"] = "external";
    cell.candidate.manifest[key] = value;
    cell.candidate.manifest["not_recorded"].push_back({{"what", "sends"}, {"why", "torch hides them"}});
    cell.candidate.erase(&RankRecord::boundaries, [](const auto& row) { return row.side == "send"; });
    boundary_row(cell.candidate, 1, 2, "backward", "layers.1", "receive").digest = other_digest;

    expect_red(cell, {"boundaries"},
               {.step = 1, .microbatch = 2, .item = "layers.1", .words = "record a reference that scales where the"});
  }
}

TEST(Boundaries, TwoPipelinesWithoutACommonCutCannotBeCompared) {
  SyntheticCell cell;
  cell.reference = synthetic_candidate({.stages = {{"embed_tokens"}, {"layers.0", "layers.1", "norm", "lm_head"}}});
  cell.reference.manifest["run_id"] = new_run_id();
  for (ActionRow& row : cell.reference.rows(&RankRecord::actions)) row.end_ns += 1;  // no copy of the candidate
  EXPECT_THAT(expect_outcome(cell, "boundaries", Outcome::does_not_apply).reason, HasSubstr("share no stage boundary"));
}

/// Another program's trainer on one device, which records the tensors at its cuts as our reference does.
struct OneDeviceCell : SyntheticCell {
  OneDeviceCell() {
    candidate = synthetic_reference({});
    candidate.manifest["role"] = "external";
    for (ActionRow& row : candidate.rows(&RankRecord::actions)) row.end_ns += 1;
  }
  BoundaryRow& row(std::int64_t step, std::int64_t microbatch, const std::string& direction, const std::string& cut) {
    return boundary_row(candidate, step, microbatch, direction, cut, "computed");
  }
};

// What the reference's recorder could not see excuses what is missing, and nothing that is there.
TEST(CutsOfOneDevice, NoExcuseOfTheReferenceHidesATensorThatBothHave) {
  for (const char* what : {"sends", "receives", "boundaries"}) {
    OneDeviceCell cell;
    cell.reference.manifest["role"] = "external";
    cell.reference.manifest["not_recorded"].push_back({{"what", what}, {"why", "torch hides them"}});
    cell.row(1, 2, "backward", "norm").digest = other_digest;

    expect_fails(cell, "boundaries", {.step = 1, .microbatch = 2, .direction = "backward", .item = "norm"});
  }
}

TEST(Boundaries, ATensorThatAPipelineComputedWithinAStageIsCompared) {
  for (const bool right : {true, false}) {
    SyntheticCell cell;
    cell.candidate.manifest["role"] = "external";
    BoundaryRow row = boundary_row(cell.reference, 1, 2, "forward", "norm", "computed");
    if (!right) row.digest = other_digest;
    cell.candidate.ranks[1].boundaries.push_back(row);

    const auto result = expect_outcome(cell, "boundaries", right ? Outcome::holds : Outcome::differs);
    if (!right) expect_finding(result.first_divergence.value(), {.step = 1, .microbatch = 2, .rank = 1});
  }
}

TEST(Boundaries, DifferentTrafficIsReportedWithSideAndEdge) {
  struct Case {
    std::size_t rank;
    std::string direction, side, item;
  };
  const std::vector<Case> cases = {{0, "forward", "send", "rank 0 -> rank 1"},
                                   {1, "forward", "receive", "rank 0 -> rank 1"},
                                   {1, "backward", "send", "rank 1 -> rank 0"},
                                   {0, "backward", "receive", "rank 1 -> rank 0"}};
  for (const auto& each : cases) {
    const auto is_it = [&](const TrafficRow& row) {
      return row.step == 1 && row.direction == each.direction && row.side == each.side;
    };
    SyntheticCell cell, uncounted;
    for (TrafficRow& row : cell.candidate.ranks[each.rank].traffic) row.bytes += is_it(row) ? 4 : 0;
    std::erase_if(uncounted.candidate.ranks[each.rank].traffic, is_it);

    expect_red(cell, {"boundaries"},
               {.step = 1,
                .rank = static_cast<std::int64_t>(each.rank),
                .direction = each.direction,
                .item = each.item,
                .expected = "5 operations, 208 bytes",
                .got = "5 operations, 212 bytes",
                .words = ", " + each.side + ": the schedule implies otherwise"});
    expect_red(uncounted, {"boundaries"}, {.step = 1, .item = each.item});
  }
}

/// A microbatch of one position in step 0 and of two in step 1.
void lengthen(SyntheticRun& run) {
  for (MicrobatchRow& row : run.rows(&RankRecord::microbatches))
    if (row.step == 1 && row.microbatch == 1) row.sequence_length = 2;
  for (BoundaryRow& row : run.rows(&RankRecord::boundaries))
    if (row.step == 1 && row.microbatch == 1) row.shape = {1, 2, 4}, row.bytes *= 2;
}

TEST(Boundaries, TrafficFollowsTheLengthsOfItsOwnStep) {
  for (const bool right : {true, false}) {
    SyntheticCell cell;
    lengthen(cell.reference);
    lengthen(cell.candidate);
    for (TrafficRow& row : cell.candidate.rows(&RankRecord::traffic)) row.bytes += right && row.step == 1 ? 16 : 0;

    const auto boundaries = expect_outcome(cell, "boundaries", right ? Outcome::holds : Outcome::differs);
    if (right) continue;
    expect_finding(*boundaries.first_divergence, {.step = 1, .expected = "5 operations, 224 bytes"});
  }
}

TEST(Boundaries, AnotherShapeSuggestsAnotherTensor) {
  for (const bool external : {true, false}) {
    SyntheticCell cell;
    if (external) cell.reference.manifest["role"] = "external";
    for (const char* side : {"send", "receive"})
      boundary_row(cell.candidate, 0, 0, "forward", "layers.1", side).shape = {1, 4, 3};

    const Finding found = expect_fails(cell, "boundaries", {.step = 0, .words = "the shape as sent differs"});
    EXPECT_EQ(found.words.find("watch_model(..., crossing=)") != std::string::npos, external) << found.words;
  }
}

TEST(Boundaries, ExternalTrafficMayBeMissing) {
  SyntheticCell cell;
  cell.candidate.manifest["role"] = "external";
  const auto reference = cell.write_reference(), candidate = cell.write_candidate();
  for (const char* rank : {"rank-0", "rank-1"}) std::filesystem::remove(candidate / rank / "traffic.csv");

  const auto boundaries = result_of(judge_cell(cell.plan, reference, candidate), "boundaries");

  EXPECT_EQ(boundaries.outcome, Outcome::holds) << boundaries.reason;
  EXPECT_THAT(boundaries.reason, HasSubstr("bytes moved (traffic.csv or schedule.csv is absent)"));
  EXPECT_FALSE(boundaries.compared.contains("traffic_edges"));
}

/// Everything before layers.1, but for the first parameter if that is trained.
void freeze_what_is_before_layer_1(SyntheticRun& run, bool first_is_trained) {
  run.manifest["role"] = "external";
  Json frozen = Json::array();
  for (const TensorRow& row : run.rows(&RankRecord::tensors))
    if (row.kind == "parameter" && row.step == -1 &&
        (row.name == embedding_weight || row.name.find("layers.0.") != std::string::npos))
      frozen.push_back(row.name);
  if (first_is_trained) frozen.erase(0);
  run.manifest["frozen"] = frozen;
}

bool backward_at_layer_1(const BoundaryRow& row) {
  return row.direction == "backward" && row.cut == "layers.1";
}

// One device computes no gradient where nothing before the cut is trained; a pipeline may send one all the same.
TEST(Boundaries, AnUnneededGradientMustArriveAsSent) {
  enum class Way { sent, not_sent, damaged, trained, without_autograd };
  for (const Way way : {Way::sent, Way::not_sent, Way::damaged, Way::trained, Way::without_autograd}) {
    SyntheticCell cell({.tied = false});
    for (auto* run : {&cell.reference, &cell.candidate}) {
      freeze_what_is_before_layer_1(*run, way == Way::trained);
      if (way == Way::without_autograd) {  // parameters that are not frozen, and have no gradient
        const auto names = std::exchange(run->manifest["frozen"], Json::array()).get<std::set<std::string>>();
        run->erase(&RankRecord::tensors,
                   [&](const TensorRow& row) { return row.kind == "gradient" && names.contains(row.name); });
      }
      if (run == &cell.reference || way == Way::not_sent) run->erase(&RankRecord::boundaries, backward_at_layer_1);
    }
    if (way == Way::damaged)
      boundary_row(cell.candidate, 1, 2, "backward", "layers.1", "receive").digest = other_digest;

    const bool right = way != Way::damaged && way != Way::trained;
    expect_outcome(cell, "boundaries", right ? Outcome::holds : Outcome::differs);
  }
}

TEST(CutsOfOneDevice, MayLackAGradientThatNothingNeeds) {
  for (const bool trained : {false, true}) {
    for (const bool both : {false, true}) {
      OneDeviceCell cell;
      for (auto* run : {&cell.reference, &cell.candidate}) freeze_what_is_before_layer_1(*run, trained);
      cell.candidate.erase(&RankRecord::boundaries, backward_at_layer_1);
      if (both) cell.reference.erase(&RankRecord::boundaries, backward_at_layer_1);

      expect_outcome(cell, "boundaries", trained ? Outcome::differs : Outcome::holds);
    }
  }
}

}  // namespace
}  // namespace plumbline::testing
