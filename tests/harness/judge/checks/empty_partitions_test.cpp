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

}  // namespace
}  // namespace plumbline::testing
