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
  EXPECT_EQ(result.looked_at.at("stages"), 2);  // the empty one, and norm with lm_head
  EXPECT_EQ(result.looked_at.at("stages_without_units"), 1);
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
  EXPECT_THAT(result_of(verdict, "empty_partitions").reason, HasSubstr("stage 1 holds no layer"));
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

}  // namespace
}  // namespace plumbline::testing
