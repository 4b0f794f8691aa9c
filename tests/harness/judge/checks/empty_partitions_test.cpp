// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(EmptyPartitions, CountsStagesWithoutLayersAndRelays) {
  SyntheticCell cell(with_empty_stage());

  const auto result = result_of(cell.judge(), "empty_partitions");

  EXPECT_EQ(result.outcome, Outcome::holds);
  EXPECT_EQ(result.inspected.at("stages"), 2);  // the empty one, and norm with lm_head
  EXPECT_EQ(result.inspected.at("stages_without_units"), 1);
  EXPECT_EQ(result.compared.at("relays"), 2 * synthetic_microbatches * synthetic_steps);
  EXPECT_EQ(result.compared.at("activation_peaks"), synthetic_steps);
}

TEST(EmptyPartitions, ParameterOnAStageWithoutUnits) {
  SyntheticCell cell(with_empty_stage());
  auto row = tensor_row(cell.candidate, 0, "parameter", "model.norm.weight");
  row.stage = 1;
  cell.candidate.ranks[1].tensors.push_back(row);

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("parameters", "empty_partitions"));
  EXPECT_THAT(result_of(verdict, "empty_partitions").reason, HasSubstr("the stage holds no layer"));
}

TEST(EmptyPartitions, RelayThatChangesABit) {
  SyntheticCell cell(with_empty_stage());
  for (auto& row : cell.candidate.ranks[1].boundaries) {
    if (row.step == 1 && row.microbatch == 2 && row.direction == "backward" && row.side == "send")
      row.digest = other_digest;
  }

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("boundaries", "empty_partitions"));
  EXPECT_EQ(result_of(verdict, "empty_partitions").first_divergence->stage, 1);
  EXPECT_EQ(result_of(verdict, "empty_partitions").first_divergence->direction, "backward");
}

TEST(EmptyPartitions, BytesOnARankWithoutUnits) {
  SyntheticCell cell(with_empty_stage());
  for (auto& row : cell.candidate.ranks[1].memory) row.gradient_bytes = 4;

  EXPECT_THAT(with_outcome(cell.judge(), Outcome::fails), ElementsAre("empty_partitions", "memory"));
}

TEST(EmptyPartitions, RelayThatHandsNothingOn) {
  SyntheticCell cell(with_empty_stage());
  std::erase_if(cell.candidate.ranks[1].boundaries, [](const BoundaryRow& row) {
    return row.step == 1 && row.microbatch == 2 && row.direction == "forward" && row.side == "send";
  });
  EXPECT_THAT(result_of(cell.judge(), "empty_partitions").reason, HasSubstr("none that went out"));
}

TEST(EmptyPartitions, EveryOwnersBytesOnARankWithoutUnits) {
  for (auto column : {&MemoryRow::parameter_bytes, &MemoryRow::gradient_bytes, &MemoryRow::optimizer_bytes}) {
    SyntheticCell cell(with_empty_stage());
    cell.candidate.ranks[1].memory[1].*column = 4;
    EXPECT_EQ(result_of(cell.judge(), "empty_partitions").outcome, Outcome::fails);
  }
}

TEST(EmptyPartitions, ActivationsBeyondTheOneThatIsHandedOn) {
  SyntheticCell cell(with_empty_stage());
  *cell.candidate.ranks[1].memory[1].activation_peak_bytes += 4;
  EXPECT_EQ(result_of(cell.judge(), "empty_partitions").outcome, Outcome::fails);
}

TEST(EmptyPartitions, AStageThatLacksItsNorm) {
  SyntheticCell cell(with_empty_stage());
  for (auto& rank : cell.candidate.ranks)
    std::erase_if(rank.tensors, [](const TensorRow& row) { return row.name == "model.norm.weight"; });
  EXPECT_THAT(result_of(cell.judge(), "empty_partitions").reason, HasSubstr("parameters"));
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

    const auto found = result_of(cell.judge(), "empty_partitions").first_divergence.value();

    EXPECT_EQ(found.step, 1);
    EXPECT_EQ(found.microbatch, 2);
    EXPECT_EQ(found.stage, 1);
    EXPECT_EQ(found.rank, 1);
    EXPECT_EQ(found.direction, direction);
    EXPECT_EQ(found.item, direction + " relay of stage 1");
    EXPECT_EQ(found.expected, in->digest);
    EXPECT_EQ(found.got, other_digest);
  }
}

TEST(EmptyPartitions, ARelayOfAnotherShapeOrDtype) {
  for (const bool shape : {true, false}) {
    SyntheticCell cell(with_empty_stage());
    for (auto& row : cell.candidate.ranks[1].boundaries) {
      if (row.step != 0 || row.microbatch != 2 || row.direction != "forward" || row.side != "send") continue;
      if (shape) row.shape = {4, 1, 4};
      if (!shape) row.dtype = "float16", row.bytes /= 2;
    }

    const auto empty = result_of(cell.judge(), "empty_partitions");

    EXPECT_EQ(empty.outcome, Outcome::fails);
    EXPECT_EQ(empty.first_divergence.value_or(Finding{}).item, "forward relay of stage 1");
  }
}

TEST(EmptyPartitions, ARelayOfWhatNeverCameIn) {
  SyntheticCell cell(with_empty_stage());
  std::erase_if(cell.candidate.ranks[1].boundaries, [](const BoundaryRow& row) {
    return row.step == 0 && row.microbatch == 3 && row.direction == "forward" && row.side == "receive";
  });

  const auto found = result_of(cell.judge(), "empty_partitions").first_divergence.value();

  EXPECT_EQ(found.microbatch, 3);
  EXPECT_EQ(found.expected, "a tensor that came in");
}

TEST(EmptyPartitions, WhatAStageOfTheSameRankHandsOverIsRelayedToo) {
  SyntheticCell cell(with_empty_stage());
  cell.plan.checks = {"empty_partitions"};
  for (auto& row : cell.candidate.ranks[1].boundaries) {
    if (row.side == "receive") row.side = "local";
  }

  const auto empty = result_of(cell.judge(), "empty_partitions");

  EXPECT_EQ(empty.outcome, Outcome::holds) << empty.reason;
}

// A stage with the embedding alone begins the model, one with norm and head alone ends it: they relay nothing.
TEST(EmptyPartitions, AStageWithUnitsButNoLayerIsNoRelay) {
  SyntheticPlan plan;
  plan.stages = {{"embed_tokens"}, {"layers.0", "layers.1"}, {"norm", "lm_head"}};
  SyntheticCell cell(plan);

  const auto empty = result_of(cell.judge(), "empty_partitions");

  EXPECT_EQ(empty.outcome, Outcome::holds) << empty.reason;
  EXPECT_EQ(empty.inspected.at("stages"), 2);
  EXPECT_FALSE(empty.compared.contains("relays"));
  EXPECT_THAT(empty.reason, ::testing::Not(HasSubstr("not inspected"))) << "there is no rank without units";
}

TEST(EmptyPartitions, AStageBeforeTheFirstUnitHandsNothingOn) {
  SyntheticPlan plan;
  plan.stages = {{}, {"embed_tokens", "layers.0"}, {"layers.1", "norm", "lm_head"}};
  SyntheticCell cell(plan);
  cell.plan.checks = {"empty_partitions"};
  for (auto& rank : cell.candidate.ranks)
    std::erase_if(rank.boundaries, [](const BoundaryRow& row) { return row.cut == "embed_tokens"; });

  const auto empty = result_of(cell.judge(), "empty_partitions");

  EXPECT_EQ(empty.inspected.at("stages_without_units"), 1);
  EXPECT_FALSE(empty.compared.contains("relays"));
  EXPECT_THAT(empty.reason, ::testing::Not(HasSubstr("relay")));
}

TEST(EmptyPartitions, RelaysAreToldInTheOrderOfComputation) {
  SyntheticPlan plan;
  plan.stages = {{"embed_tokens", "layers.0"}, {}, {}, {"layers.1", "norm", "lm_head"}};
  SyntheticCell cell(plan);
  const auto change = [&](std::size_t rank, const std::string& direction) {
    for (auto& row : cell.candidate.ranks[rank].boundaries) {
      if (row.step == 0 && row.microbatch == 0 && row.direction == direction && row.side == "send")
        row.digest = other_digest;
    }
  };
  change(1, "forward");
  change(2, "backward");

  const auto found = result_of(cell.judge(), "empty_partitions").first_divergence.value();

  EXPECT_EQ(found.item, "forward relay of stage 1") << "before any backward pass of that microbatch";
}

TEST(EmptyPartitions, CountWhatTheRanksWithoutUnitsAndTheStagesWithoutLayersHold) {
  SyntheticCell cell(with_empty_stage());

  const auto empty = result_of(cell.judge(), "empty_partitions");

  EXPECT_EQ(empty.inspected.at("ranks_without_units"), 1);
  EXPECT_EQ(empty.compared.at("memory_cells"), 3 * synthetic_steps);
  EXPECT_EQ(empty.inspected.at("parameters"), 2) << "norm and head of the last stage";
  EXPECT_THAT(empty.reason, ::testing::Not(HasSubstr("not inspected")));
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

  const auto empty = result_of(cell.judge(), "empty_partitions");

  EXPECT_EQ(empty.outcome, Outcome::holds) << empty.reason;
  EXPECT_THAT(empty.reason, HasSubstr("not inspected: bytes of ranks without units"));
  EXPECT_FALSE(empty.compared.contains("activation_peaks"));
}

TEST(EmptyPartitions, BytesOfARankWithoutUnitsAreToldWithStepAndColumn) {
  SyntheticCell cell(with_empty_stage());
  cell.candidate.ranks[1].memory[1].optimizer_bytes = 8;

  const auto found = result_of(cell.judge(), "empty_partitions").first_divergence.value();

  EXPECT_EQ(found.step, 1);
  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.item, "optimizer_bytes");
  EXPECT_EQ(found.expected, "0");
  EXPECT_EQ(found.got, "8");
}

}  // namespace
}  // namespace plumbline::testing
