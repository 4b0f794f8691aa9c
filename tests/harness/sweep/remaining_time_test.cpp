#include "harness/sweep/remaining_time.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "harness/sweep/sweep_progress.hpp"

namespace plumbline::testing {
namespace {

/// Runs of weight 1 that take these seconds each, looked at every tenth of a second: what is told at each look.
std::vector<double> told(RemainingTime& remaining, const std::vector<double>& seconds) {
  std::vector<double> left;
  double now = 0;
  for (const double each : seconds) {
    remaining.begin(now, 1);
    for (double at = 0; at < each; at += 0.1) {
      if (const auto told = remaining.left_s(now + at)) left.push_back(*told);
    }
    now += each;
    remaining.end(now);
  }
  return left;
}

bool climbs(const std::vector<double>& left) {
  for (std::size_t i = 1; i < left.size(); ++i) {
    if (left[i] > left[i - 1] + 1e-9) return true;
  }
  return false;
}

TEST(RemainingTime, DoesNotClimbWhileRunsTakeWhatTheyShould) {
  RemainingTime alike(10), quicker(10);

  EXPECT_FALSE(climbs(told(alike, std::vector(10, 2.0))));
  EXPECT_FALSE(climbs(told(quicker, {3, 2, 2.5, 1, 2, 1.5, 2, 2, 1, 1})));
}

TEST(RemainingTime, FallsWithTheTimeThatPasses) {
  RemainingTime remaining(4);

  const auto left = told(remaining, {2, 2, 2, 2});

  EXPECT_NEAR(left.front(), 6, 1e-9) << "nothing is told before the first has ended";
  EXPECT_NEAR(left.back(), 0.1, 1e-6);
}

TEST(RemainingTime, ClimbsWhereARunTrulyTakesLonger) {
  RemainingTime remaining(10);

  EXPECT_TRUE(climbs(told(remaining, {1, 1, 8, 1})));
}

TEST(RemainingTime, IsWeighedByWhatRunsAre) {
  RemainingTime remaining(11);
  remaining.begin(0, 1);
  remaining.end(2);
  remaining.begin(2, 10);

  EXPECT_NEAR(*remaining.left_s(2), 20, 1e-9);
  EXPECT_NEAR(*remaining.left_s(12), 10, 1e-9);
}

TEST(RemainingTime, WhatIsKeptCountsForNothing) {
  RemainingTime remaining(10);
  remaining.skip(8);
  EXPECT_FALSE(remaining.left_s(0));
  remaining.begin(5, 1);
  remaining.end(6);
  remaining.begin(6, 1);

  EXPECT_NEAR(*remaining.left_s(6), 1, 1e-9);
  remaining.end(7);
  EXPECT_FALSE(remaining.left_s(7)) << "nothing is left";
}

TEST(EstimateText, IsInSecondsAndThenInMinutes) {
  EXPECT_EQ(estimate_text(40.4), "about 40 s left");
  EXPECT_EQ(estimate_text(200), "about 3 min left");
}

}  // namespace
}  // namespace plumbline::testing
