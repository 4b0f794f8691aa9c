// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(EmptyPartitions, CountsStagesWithoutLayersAndRelays) {
  SyntheticCell cell(with_empty_stage());

  const auto result = expect_outcome(cell, "empty_partitions", Outcome::holds);
  EXPECT_EQ(result.inspected.at("stages"), 2);  // the empty one, and norm with lm_head
  EXPECT_EQ(result.inspected.at("stages_without_units"), 1);
  EXPECT_EQ(result.inspected.at("ranks_without_units"), 1);
  EXPECT_EQ(result.inspected.at("parameters"), 2) << "norm and head of the last stage";
  EXPECT_EQ(result.compared.at("relays"), 2 * synthetic_microbatches * synthetic_steps);
  EXPECT_EQ(result.compared.at("activation_peaks"), synthetic_steps);
  EXPECT_EQ(result.compared.at("memory_cells"), 3 * synthetic_steps);
  EXPECT_THAT(result.reason, ::testing::Not(HasSubstr("not inspected")));
}

TEST(EmptyPartitions, ParameterOnAStageWithoutUnits) {
  SyntheticCell cell(with_empty_stage());
  auto row = tensor_row(cell.candidate, 0, "parameter", "model.norm.weight");
  row.stage = 1;
  cell.candidate.ranks[1].tensors.push_back(row);

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::differs), ElementsAre("parameters", "empty_partitions"));
  EXPECT_THAT(result_of(verdict, "empty_partitions").reason, HasSubstr("the stage holds no layer"));
}

TEST(EmptyPartitions, ARelayThatChangesABitIsToldWithItsPlace) {
  for (const std::string direction : {"forward", "backward"}) {
    SyntheticCell cell(with_empty_stage());
    BoundaryRow *in = nullptr, *out = nullptr;
    for (auto& row : cell.candidate.ranks[1].boundaries) {
      if (row.step != 1 || row.microbatch != 2 || row.direction != direction) continue;
      (row.side == "send" ? out : in) = &row;
    }
    ASSERT_TRUE(in && out);
    out->digest = other_digest;
    const auto verdict = cell.judge();
    EXPECT_THAT(with_outcome(verdict, Outcome::differs), ElementsAre("boundaries", "empty_partitions"));
    const auto& found = result_of(verdict, "empty_partitions").first_divergence.value();
    expect_finding(found, {.step = 1, .microbatch = 2, .stage = 1, .rank = 1, .direction = direction});
    expect_finding(found, {.item = direction + " relay of stage 1", .expected = in->digest, .got = other_digest});
  }
}

TEST(EmptyPartitions, WhatAStageWithoutUnitsHoldsOrDoesNotHandOnIsTold) {
  expect_each_fails(
      "empty_partitions",
      {{"weights", [](auto& cell) { cell.candidate.ranks[1].memory[1].parameter_bytes = 4; }},
       {"gradients", [](auto& cell) { cell.candidate.ranks[1].memory[1].gradient_bytes = 4; }},
       {"optimiser state",
        [](auto& cell) { cell.candidate.ranks[1].memory[1].optimizer_bytes = 8; },
        {.step = 1, .rank = 1, .item = "optimizer_bytes", .expected = "0", .got = "8"}},
       {"activations beyond the one that is handed on",
        [](auto& cell) { *cell.candidate.ranks[1].memory[1].activation_peak_bytes += 4; }},
       {"without its norm",
        [](auto& cell) {
          cell.candidate.erase(&RankRecord::tensors,
                               [](const TensorRow& row) { return row.name == "model.norm.weight"; });
        },
        {.words = "parameters"}},
       {"a relay that hands nothing on",
        [](auto& cell) {
          std::erase_if(cell.candidate.ranks[1].boundaries, [](const BoundaryRow& row) {
            return row.step == 1 && row.microbatch == 2 && row.direction == "forward" && row.side == "send";
          });
        },
        {.words = "none that went out"}},
       {"a relay of what never came in",
        [](auto& cell) {
          std::erase_if(cell.candidate.ranks[1].boundaries, [](const BoundaryRow& row) {
            return row.step == 0 && row.microbatch == 3 && row.direction == "forward" && row.side == "receive";
          });
        },
        {.microbatch = 3, .expected = "a tensor that came in"}}},
      with_empty_stage());
}

TEST(EmptyPartitions, ARelayOfAnotherShapeOrDtype) {
  for (const bool shape : {true, false}) {
    SyntheticCell cell(with_empty_stage());
    for (auto& row : cell.candidate.ranks[1].boundaries) {
      if (row.step != 0 || row.microbatch != 2 || row.direction != "forward" || row.side != "send") continue;
      if (shape) row.shape = {4, 1, 4};
      if (!shape) row.dtype = "float16", row.bytes /= 2;
    }

    EXPECT_EQ(expect_outcome(cell, "empty_partitions", Outcome::differs).first_divergence.value_or(Finding{}).item,
              "forward relay of stage 1");
  }
}

TEST(EmptyPartitions, WhatAStageOfTheSameRankHandsOverIsRelayedToo) {
  SyntheticCell cell(with_empty_stage());
  cell.plan.checks = {"empty_partitions"};
  for (auto& row : cell.candidate.ranks[1].boundaries) {
    if (row.side == "receive") row.side = "local";
  }

  expect_outcome(cell, "empty_partitions", Outcome::holds);
}

// A stage with the embedding alone begins the model, one with norm and head alone ends it: they relay nothing.
TEST(EmptyPartitions, AStageWithUnitsButNoLayerIsNoRelay) {
  SyntheticCell cell({.stages = {{"embed_tokens"}, {"layers.0", "layers.1"}, {"norm", "lm_head"}}});

  const auto empty = expect_outcome(cell, "empty_partitions", Outcome::holds);
  EXPECT_EQ(empty.inspected.at("stages"), 2);
  EXPECT_FALSE(empty.compared.contains("relays"));
  EXPECT_THAT(empty.reason, ::testing::Not(HasSubstr("not inspected"))) << "there is no rank without units";
}

TEST(EmptyPartitions, AStageBeforeTheFirstUnitHandsNothingOn) {
  SyntheticCell cell({.stages = {{}, {"embed_tokens", "layers.0"}, {"layers.1", "norm", "lm_head"}}});
  cell.plan.checks = {"empty_partitions"};
  cell.candidate.erase(&RankRecord::boundaries, [](const BoundaryRow& row) { return row.cut == "embed_tokens"; });

  const auto empty = result_of(cell.judge(), "empty_partitions");

  EXPECT_EQ(empty.inspected.at("stages_without_units"), 1);
  EXPECT_FALSE(empty.compared.contains("relays"));
  EXPECT_THAT(empty.reason, ::testing::Not(HasSubstr("relay")));
}

TEST(EmptyPartitions, RelaysAreToldInTheOrderOfComputation) {
  SyntheticCell cell({.stages = {{"embed_tokens", "layers.0"}, {}, {}, {"layers.1", "norm", "lm_head"}}});
  const auto change = [&](std::size_t rank, const std::string& direction) {
    for (auto& row : cell.candidate.ranks[rank].boundaries) {
      if (row.step == 0 && row.microbatch == 0 && row.direction == direction && row.side == "send")
        row.digest = other_digest;
    }
  };
  change(1, "forward");
  change(2, "backward");

  EXPECT_EQ(expect_fails(cell, "empty_partitions").item, "forward relay of stage 1")
      << "before any backward pass of that microbatch";
}

TEST(EmptyPartitions, BytesThatAnExternalTrainerDoesNotTellAreNotDemanded) {
  SyntheticCell cell(with_empty_stage());
  cell.candidate.manifest["role"] = "external";
  for (auto& row : cell.candidate.ranks[1].memory) {
    row.parameter_bytes.reset();
    row.gradient_bytes.reset();
    row.optimizer_bytes.reset();
    row.activation_peak_bytes.reset();
  }

  const auto empty = expect_outcome(cell, "empty_partitions", Outcome::holds);
  EXPECT_THAT(empty.reason, HasSubstr("not inspected: bytes of ranks without units"));
  EXPECT_FALSE(empty.compared.contains("activation_peaks"));
}

}  // namespace
}  // namespace plumbline::testing
