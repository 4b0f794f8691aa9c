#include <gmock/gmock.h>

#include "support/hash.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace plumbline::testing
