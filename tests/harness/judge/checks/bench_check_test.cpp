// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <functional>
#include <numeric>

#include "harness/judge/checks/checks.hpp"
#include "support/hash.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using namespace judging;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class BenchTest : public ::testing::Test {
 protected:
  void each_microbatch(const std::function<void(MicrobatchRow&)>& change) {
    for (MicrobatchRow& row : cell.reference.rows(&RankRecord::microbatches)) change(row);
  }
  /// Sets other lengths, and updates tokens, the losses weighted by them, and the steps' sums.
  void make_sizes(const std::vector<std::int64_t>& lengths, const std::vector<std::int64_t>& valid) {
    const auto valid_of_step = std::accumulate(valid.begin(), valid.end(), std::int64_t{0});
    each_microbatch([&](auto& row) {
      const auto m = static_cast<std::size_t>(row.microbatch);
      row.sequence_length = row.tokens = lengths.at(m);
      row.valid_tokens = valid.at(m);
      const float mean = 2.0F + 0.25F * static_cast<float>(m % 2);
      if (row.loss) row.loss = mean * static_cast<float>(valid[m]) / static_cast<float>(valid_of_step);
    });
    for (auto& rank : cell.reference.ranks) {
      for (auto& row : rank.steps) {
        row.tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
        row.valid_tokens = valid_of_step;
        row.loss = 0.0F;
        for (const auto& microbatch : rank.microbatches) {
          if (microbatch.step == row.step) *row.loss += microbatch.loss.value();
        }
      }
    }
  }
  CheckResult judge() { return check_bench(RecordReading(cell.write_reference()), request); }
  /// Expects an incomplete check for this one reason.
  void expect_lacking(const std::string& what) {
    const auto result = judge();
    EXPECT_EQ(result.outcome, Outcome::incomplete) << result.reason;
    EXPECT_THAT(result.reason, AllOf(HasSubstr(what), Not(HasSubstr(";"))));
  }

  SyntheticCell cell;
  BenchRequest request;
};

TEST_F(BenchTest, HoldsForDataThatExposesEveryFault) {
  const auto result = judge();

  EXPECT_EQ(result.outcome, Outcome::holds) << result.reason;
  EXPECT_EQ(result.name, "bench");
  EXPECT_EQ(result.inspected.at("microbatches"), synthetic_steps * synthetic_microbatches);
  EXPECT_EQ(result.inspected.at("distinct_microbatches"), synthetic_steps * (synthetic_microbatches - 1));
  EXPECT_TRUE(result.compared.empty()) << "the check compares nothing";
}

TEST_F(BenchTest, TheRequestDecidesHowMuchIsRequired) {
  EXPECT_FALSE(judge().required);
  request.required = true;
  cell.reference = synthetic_reference({});
  keep_first_step(cell.reference);
  std::filesystem::remove_all(cell.folder / "reference");

  EXPECT_TRUE(is_blocking(judge()));
}

// Lengths are 3 1 4 3 2, the last masked.
TEST_F(BenchTest, EachGapIsReportedByItself) {
  const std::string first = cell.reference.ranks[0].microbatches[0].data_digest;
  const std::string third = cell.reference.ranks[0].microbatches[synthetic_microbatches + 2].data_digest;
  const auto of_each = [this](std::function<void(MicrobatchRow&)> change) {
    return [this, change = std::move(change)] { each_microbatch(change); };
  };
  const std::vector<std::pair<const char*, std::function<void()>>> cases = {
      {"no microbatch is longer",
       [&] {
         make_sizes({5, 4, 3, 3, 1}, {3, 1, 3, 2, 0});
       }},
      {"no microbatch is shorter",
       [&] {
         make_sizes({1, 2, 2, 3, 4}, {1, 1, 2, 3, 0});
       }},
      {"no two microbatches have the same length", of_each([](auto& row) {
         row.sequence_length = std::vector<std::int64_t>{3, 1, 4, 5, 2}.at(static_cast<std::size_t>(row.microbatch));
       })},
      {"no microbatch has length 1",
       of_each([](auto& row) { row.sequence_length = std::max<std::int64_t>(row.sequence_length, 2); })},
      {"no microbatch is fully masked",
       of_each([](auto& row) { row.valid_tokens = std::max<std::int64_t>(row.valid_tokens, 1); })},
      {"losses cannot distinguish token weighting from a mean of means", of_each([](auto& row) {
         if (row.loss) row.loss = 0.25F * static_cast<float>(row.valid_tokens);
       })},
      {"microbatches 0 and 3 of step 0 have the same ids and labels", of_each([&](auto& row) {
         if (row.step == 0 && row.microbatch == 3) row.data_digest = first;
       })},
      {"microbatches 2 and 3 of step 1 have the same ids and labels", of_each([&](auto& row) {
         if (row.step == 1 && row.microbatch == 3) row.data_digest = third;
       })},
      {"the run has only one step", [&] { keep_first_step(cell.reference); }},
      {"the run has only one step", [&] { begin_with_second_step(cell.reference); }},  // one recorded step
      {"no parameter changes", [&] { keep_start(cell.reference); }}};
  for (const auto& [what, change] : cases) {
    cell.reference = synthetic_reference({});
    change();
    expect_lacking(what);
    std::filesystem::remove_all(cell.folder / "reference");
  }
}

TEST_F(BenchTest, EqualNumbersOfValidTokensAreReported) {
  make_sizes({3, 1, 4, 3, 2}, {1, 1, 1, 1, 0});

  EXPECT_THAT(judge().reason, HasSubstr("all microbatches have the same number of valid tokens"));
}
TEST_F(BenchTest, RequestedEqualLengthsAreAccepted) {
  make_sizes({3, 3, 3, 3, 3}, {3, 3, 3, 3, 3});
  EXPECT_EQ(judge().outcome, Outcome::incomplete);
  std::filesystem::remove_all(cell.folder / "reference");
  request.equal_lengths = true;

  EXPECT_EQ(judge().outcome, Outcome::holds) << judge().reason;
}

TEST_F(BenchTest, ALooserLimitNeedsLargerDifferencesOfLosses) {
  request.loosest_loss = 10;

  EXPECT_THAT(judge().reason, HasSubstr("should differ by 100"));
}

TEST_F(BenchTest, AnUnreadableRecordIsNotJudged) {
  const auto result = check_bench(RecordReading(cell.folder / "nothing"), request);

  EXPECT_EQ(result.outcome, Outcome::incomplete);
  EXPECT_THAT(result.reason, HasSubstr("nothing"));
}

// Token-weighted, the losses are 2.075; the microbatches' own means are 2, 2.25, 2 and 2.25.
TEST_F(BenchTest, ReportsTheDifferenceOfLossesWithItsMargin) {
  constexpr double apart = 0.05 / 2.075;

  const auto result = judge();

  EXPECT_NEAR(result.margin.value(), 2e-4 / apart, 1e-6);
  EXPECT_THAT(result.measured, ::testing::StartsWith("0.024096"));
  EXPECT_THAT(result.measured, ::testing::EndsWith(" relative difference in the most sensitive step"));
}
TEST_F(BenchTest, OneRevealingStepIsEnough) {
  each_microbatch([](auto& row) {
    if (row.loss && row.step == 0) row.loss = 0.25F * static_cast<float>(row.valid_tokens);
  });
  EXPECT_EQ(judge().outcome, Outcome::holds);
}
TEST_F(BenchTest, WithinLimitsAnotherShareOfTokensIsEnough) {
  request.loosest_loss = 1e-6;

  // The second microbatch has one of ten tokens, but one of four means.
  EXPECT_THAT(judge().measured, ::testing::StartsWith("1.5 relative difference"));
}
TEST_F(BenchTest, TwoMaskedMicrobatchesMayBeEqual) {
  make_sizes({3, 1, 4, 3, 2}, {3, 1, 4, 0, 0});
  each_microbatch([&](auto& row) {
    if (row.valid_tokens == 0) row.data_digest = other_digest;
  });
  EXPECT_EQ(judge().outcome, Outcome::holds) << judge().reason;
}
TEST_F(BenchTest, ReportsParametersAsNotInspectedWithoutTensors) {
  cell.reference.manifest["level"] = "summary";

  const auto result = judge();

  EXPECT_EQ(result.outcome, Outcome::holds) << result.reason;
  EXPECT_THAT(result.reason, HasSubstr("not inspected: whether parameters change"));
}
TEST_F(BenchTest, ARecordOfLevelNoneIsNotJudged) {
  cell.reference.manifest["level"] = "none";

  const auto result = judge();

  EXPECT_EQ(result.outcome, Outcome::incomplete);
  EXPECT_EQ(result.reason, "a record of level none has no data");
}
TEST_F(BenchTest, OmitsSizesThatNeedNotDiffer) {
  request.equal_lengths = true;
  EXPECT_THAT(judge().reason, HasSubstr("microbatches were not required to differ in size"));
}

}  // namespace
}  // namespace plumbline::testing
