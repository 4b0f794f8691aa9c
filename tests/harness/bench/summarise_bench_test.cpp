// SPDX-License-Identifier: BSD-3-Clause
#include "harness/bench/summarise_bench.hpp"

#include <gmock/gmock.h>

namespace plumbline {
namespace {

BenchRound round_of(double step_ms, double tokens = 1000) {
  BenchRound round;
  round.steps_ms = {0.9 * step_ms, step_ms, 1.3 * step_ms};
  round.tokens = tokens;
  return round;
}

BenchRound pipeline_round(double step_ms, double span_ms) {
  BenchRound round = round_of(step_ms);
  round.timeline = BenchRound::Timeline{0.2, 0.15, span_ms, 0.9 * span_ms};
  return round;
}

TEST(MedianInterval, TakesTheOrderStatisticsThatHoldTheMedianWith95Percent) {
  // By the binomial distribution: of 6 the smallest and largest with 96.9 %, of 10 the second ones with 97.9 %.
  EXPECT_EQ(order_statistics_of_median(6).from_end, 0U);
  EXPECT_NEAR(order_statistics_of_median(6).coverage, 0.96875, 1e-12);
  EXPECT_EQ(order_statistics_of_median(10).from_end, 1U);
  EXPECT_NEAR(order_statistics_of_median(10).coverage, 0.978515625, 1e-12);
  EXPECT_EQ(order_statistics_of_median(9).from_end, 1U);

  const MedianInterval of_ten = median_interval({9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  EXPECT_EQ(of_ten.median, 4.5);
  EXPECT_EQ(of_ten.low, 1);
  EXPECT_EQ(of_ten.high, 8);
}

TEST(MedianInterval, OfFewValuesIsTheWholeRangeAndSaysHowLittleThatHolds) {
  EXPECT_EQ(order_statistics_of_median(5).from_end, 0U);
  EXPECT_NEAR(order_statistics_of_median(5).coverage, 0.9375, 1e-12);
  EXPECT_EQ(order_statistics_of_median(1).coverage, 0);
  EXPECT_EQ(median_interval({3}).low, 3);
}

TEST(SummariseBench, ASpeedIsTakenRoundByRound) {
  // A machine that is half as fast in the second round is so for both: the ratios stay what they are.
  const ReferenceRounds reference{{round_of(100), round_of(200)}, {round_of(100), round_of(200)}};
  BenchCell cell;
  cell.world = 2;

  summarise({round_of(50), round_of(100)}, reference, 2, cell);

  EXPECT_DOUBLE_EQ(cell.speed.median, 2);
  EXPECT_DOUBLE_EQ(cell.speed.low, 2);
  EXPECT_DOUBLE_EQ(cell.speed.high, 2);
  ASSERT_EQ(cell.rounds.size(), 2U);
  EXPECT_DOUBLE_EQ(cell.rounds[1].speed.value(), 2);
  EXPECT_DOUBLE_EQ(cell.rounds[1].step_ms, 100);
  EXPECT_DOUBLE_EQ(cell.rounds[0].tokens_per_s, 20000);
  EXPECT_FALSE(cell.bubble);
}

TEST(SummariseBench, MoreRanksThanCoresAreMarked) {
  const ReferenceRounds reference{{round_of(100)}, {round_of(100)}};
  BenchCell cell;
  cell.world = 3;

  summarise({round_of(50)}, reference, 2, cell);

  EXPECT_TRUE(cell.oversubscribed);
}

TEST(SummariseBench, WhatTheScheduleAllowsIsItsSimulationAndTheEndOfTheStepAsMeasured) {
  const ReferenceRounds reference{{round_of(100), round_of(100)}, {}};
  BenchCell cell;
  cell.world = 2;

  summarise({pipeline_round(60, 50), pipeline_round(60, 50)}, reference, 2, cell);

  ASSERT_TRUE(cell.bubble && cell.simulated_speed);
  EXPECT_DOUBLE_EQ(cell.bubble->measured.median, 0.2);
  EXPECT_DOUBLE_EQ(cell.bubble->simulated, 0.15);
  EXPECT_DOUBLE_EQ(*cell.simulated_speed, 100 / (45.0 + 10));
}

BenchReference with_second(const std::vector<double>& step_ms) {
  ReferenceRounds rounds;
  for (const double each : step_ms) {
    rounds.first.push_back(round_of(100));
    rounds.second.push_back(round_of(each));
  }
  BenchReference reference;
  summarise(rounds, reference);
  return reference;
}

TEST(SummariseBench, NoiseIsHowFarOffOneTheMedianOfASecondReferenceMayLie) {
  EXPECT_DOUBLE_EQ(noise_of({with_second({100, 80})}), 0.25) << "of few rounds the farthest";
  EXPECT_DOUBLE_EQ(noise_of({with_second({100}), with_second({125})}), 0.2) << "the noisier of two references";
  EXPECT_DOUBLE_EQ(noise_of({with_second({125}), with_second({100})}), 0.2) << "in whatever order";
  EXPECT_DOUBLE_EQ(noise_of({with_second({100, 125})}), 0.2) << "a second that is slower alone";
  std::vector<double> rounds(24, 100);
  rounds[3] = 50;
  rounds[11] = 200;
  EXPECT_DOUBLE_EQ(noise_of({with_second(rounds)}), 0) << "single rounds move no median";
  for (std::size_t i = 0; i < 12; ++i) rounds[2 * i] = 80;
  EXPECT_DOUBLE_EQ(noise_of({with_second(rounds)}), 0.25) << "every other round is slower";
}

}  // namespace
}  // namespace plumbline
