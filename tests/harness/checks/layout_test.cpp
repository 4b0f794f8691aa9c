// empty_partitions, variable_lengths, conformance and repeatability.
#include <gmock/gmock.h>

#include "support/hash.hpp"
#include "tests/harness/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(EmptyPartitions, CountsStagesWithoutLayersAndRelays) {
  SyntheticCell cell(with_empty_stage());

  const auto result = result_of(cell.judge(), "empty_partitions");

  EXPECT_EQ(result.outcome, Outcome::holds);
  EXPECT_EQ(result.looked_at.at("stages"), 2);  // the empty one, and norm with lm_head
  EXPECT_EQ(result.looked_at.at("stages_without_units"), 1);
  EXPECT_EQ(result.looked_at.at("relays"), 2 * synthetic_microbatches * synthetic_steps);
  EXPECT_EQ(result.looked_at.at("activation_peaks"), synthetic_steps);
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

TEST(VariableLengths, EqualLengthsDoNotTrigger) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) {
      for (auto& row : rank.microbatches) row.sequence_length = 3;
    }
  }

  const auto result = result_of(cell.judge(), "variable_lengths");

  EXPECT_NE(result.outcome, Outcome::holds);
}

TEST(VariableLengths, SaysWhatTheLengthsLack) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) {
      for (auto& row : rank.microbatches) {
        if (row.sequence_length != 1) continue;
        row.sequence_length = 2;
      }
      for (auto& row : rank.boundaries) {
        if (row.microbatch == 1) row.shape = {1, 2, 4};
      }
    }
  }

  const auto result = result_of(cell.judge(), "variable_lengths");

  EXPECT_EQ(result.outcome, Outcome::not_triggered);
  EXPECT_THAT(result.reason, HasSubstr("none has length 1"));
}

TEST(VariableLengths, LossesThatCannotTellWeightingApart) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) {
      for (auto& row : rank.microbatches) {
        if (row.loss) row.loss = 0.25F * static_cast<float>(row.valid_tokens);
      }
      for (auto& row : rank.steps) {
        if (row.loss) row.loss = 2.5F;
      }
    }
  }

  const auto verdict = cell.judge();

  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(with_outcome(verdict, Outcome::not_triggered), ElementsAre("variable_lengths"));
  EXPECT_THAT(result_of(verdict, "variable_lengths").reason, HasSubstr("cannot tell token weighting"));
}

TEST(VariableLengths, TwoEqualMicrobatchesWouldHideASwap) {
  SyntheticCell cell;
  std::string digests;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) {
      for (auto& row : rank.microbatches) {
        if (row.microbatch == 3)
          row.data_digest = rank.microbatches[static_cast<std::size_t>(row.step * synthetic_microbatches)].data_digest;
      }
    }
    digests.clear();
    for (const auto& row : run->ranks[0].microbatches) digests += row.data_digest;
    run->manifest["data"]["digest"] = hash_hex(digests);
  }

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("variable_lengths"));
  EXPECT_THAT(result_of(verdict, "variable_lengths").reason, HasSubstr("microbatches 0 and 3 of step 0"));
}

TEST(Conformance, TwoActionsInAnotherOrder) {
  SyntheticCell cell;
  auto &first = action_row(cell.candidate, 1, "0F0"), &second = action_row(cell.candidate, 1, "0F1");
  std::swap(first.action, second.action);
  std::swap(first.microbatch, second.microbatch);

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), Contains("conformance"));
  const auto& found = *result_of(verdict, "conformance").first_divergence;
  EXPECT_EQ(found.step, 1);
  EXPECT_EQ(found.rank, 0);
  EXPECT_EQ(found.expected, "0F0");
}

TEST(Conformance, MissingStep) {
  SyntheticCell cell;
  std::erase_if(cell.candidate.ranks[1].actions,
                [](const auto& row) { return row.step == 0 && row.action == "1STEP"; });

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("conformance"));
  EXPECT_EQ(result_of(verdict, "conformance").first_divergence->expected, "1STEP");
}

TEST(Conformance, CommunicationAtWorldSizeOne) {
  SyntheticCell cell(one_stage());
  auto row = action_row(cell.candidate, 0, "0STEP");
  row.index += 1;
  row.action = "0SEND_F0", row.microbatch = 0;
  cell.candidate.ranks[0].actions.push_back(row);

  EXPECT_THAT(with_outcome(cell.judge(), Outcome::fails), ElementsAre("conformance"));
}

TEST(Conformance, AnotherScheduleUnderTheNameAskedFor) {
  SyntheticPlan plan;
  plan.schedule = "afab";
  SyntheticCell cell(plan);
  cell.candidate.manifest["schedule"]["name"] = "1f1b";

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("conformance"));
  EXPECT_THAT(result_of(verdict, "conformance").reason, HasSubstr("not the list of 1f1b"));
}

TEST(Conformance, ComputeThatOverlapsItself) {
  SyntheticCell cell;
  auto& row = action_row(cell.candidate, 0, "0B4");
  row.start_ns -= 500'000;
  row.end_ns = row.start_ns + 10;

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("conformance"));
  EXPECT_THAT(result_of(verdict, "conformance").reason, HasSubstr("overlaps"));
}

class Repeatability : public ::testing::Test {
 protected:
  Repeatability() {
    cell.plan.repeat = true;
    cell.repeated = synthetic_candidate({});
    for (auto& rank : cell.repeated->ranks) {
      for (auto& row : rank.actions) row.end_ns += 1;  // time is not what has to repeat
    }
  }
  SyntheticCell cell;
};

TEST_F(Repeatability, HoldsForASecondRunOfTheSameBits) {
  const auto verdict = cell.judge();

  EXPECT_TRUE(verdict.holds);
  EXPECT_EQ(result_of(verdict, "repeatability").outcome, Outcome::holds);
}

TEST_F(Repeatability, FailsForOneOtherMoment) {
  tensor_row(*cell.repeated, 1, "moment1", "model.norm.weight").digest = other_digest;

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("repeatability"));
  EXPECT_EQ(verdict.first_divergence->rung, "R0");
  EXPECT_EQ(verdict.first_divergence->item, "moment1 model.norm.weight");
}

TEST_F(Repeatability, FailsForTheSameRecordTwice) {
  cell.repeated = cell.candidate;

  EXPECT_THAT(result_of(cell.judge(), "repeatability").reason, HasSubstr("never compared with itself"));
}

TEST_F(Repeatability, IsNotRunWithoutASecondRunThoughAskedFor) {
  cell.repeated.reset();

  const auto verdict = cell.judge();

  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(result_of(verdict, "repeatability").outcome, Outcome::not_run);
}

}  // namespace
}  // namespace plumbline::testing
