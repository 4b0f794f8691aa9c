#include "reports/run_speed.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace plumbline {
namespace {

StepRow step_of(std::int64_t step, double seconds, std::optional<double> recording) {
  StepRow row;
  row.step = step;
  row.tokens = 100;
  row.seconds = seconds;
  row.recording_seconds = recording;
  return row;
}

Record record_of(std::vector<std::vector<StepRow>> ranks) {
  Record record;
  for (auto& rows : ranks) {
    RankRecord rank;
    rank.rank = std::ssize(record.ranks);
    rank.steps = std::move(rows);
    record.ranks.push_back(std::move(rank));
  }
  return record;
}

TEST(RunSpeed, IsOfTheSlowestRankAndWithoutTheFirstStep) {
  const auto speed =
      run_speed(record_of({{step_of(0, 9, 9), step_of(1, 1, 0.1), step_of(2, 2, 0.2), step_of(3, 1, 0.1)},
                           {step_of(0, 9, 9), step_of(1, 2, 1.0), step_of(2, 1, 0.5), step_of(3, 4, 2.0)}}));
  ASSERT_TRUE(speed.has_value());
  EXPECT_EQ(speed->steps, 3);
  EXPECT_DOUBLE_EQ(speed->tokens_per_s, 50);  // steps of 2, 2 and 4 s
  EXPECT_DOUBLE_EQ(speed->recording.value(), 0.5);
}

TEST(RunSpeed, TheFirstRankMayBeTheSlowest) {
  const auto speed = run_speed(record_of({{step_of(0, 9, 9), step_of(1, 4, 0.4), step_of(2, 4, 0.8)},
                                          {step_of(0, 9, 9), step_of(1, 2, 0.2), step_of(2, 2, 0.2)}}));
  ASSERT_TRUE(speed.has_value());
  EXPECT_DOUBLE_EQ(speed->tokens_per_s, 25);
  EXPECT_NEAR(speed->recording.value(), 0.15, 1e-12) << "without the first step, whose share is 1";
}

TEST(RunSpeed, OfARunThatWasGoneOnWithLeavesOutTheFirstStepItMade) {
  Record record = record_of({{step_of(3, 9, 9), step_of(4, 1, 0.25)}});
  record.manifest.first_step = 3;
  const auto speed = run_speed(record);
  ASSERT_TRUE(speed.has_value());
  EXPECT_DOUBLE_EQ(speed->tokens_per_s, 100);
}

TEST(RunSpeed, WithoutTheColumnSaysNothingOfRecording) {
  const auto speed = run_speed(record_of({{step_of(0, 1, {}), step_of(1, 1, {})}}));
  ASSERT_TRUE(speed.has_value());
  EXPECT_FALSE(speed->recording.has_value());
}

TEST(RunSpeed, OfOneStepOrWithoutTimesIsNothing) {
  EXPECT_FALSE(run_speed(record_of({{step_of(0, 1, {})}})).has_value());
  StepRow untimed = step_of(1, 1, {});
  untimed.seconds.reset();
  EXPECT_FALSE(run_speed(record_of({{step_of(0, 1, {}), untimed}})).has_value());
  EXPECT_FALSE(run_speed(record_of({{step_of(0, 1, {}), step_of(1, 0, {})}})).has_value());
}

}  // namespace
}  // namespace plumbline
