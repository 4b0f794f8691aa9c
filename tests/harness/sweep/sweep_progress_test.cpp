// SPDX-License-Identifier: BSD-3-Clause
// What a log is told of runs while they go, by a clock that the test moves. Three runs whose work is 6 together.
#include "harness/sweep/sweep_progress.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace plumbline::testing {
namespace {

class SweepProgressInALog : public ::testing::Test {
 protected:
  void pass(int milliseconds) { now_ += std::chrono::milliseconds(milliseconds); }
  /// What a look at the runs writes; a line may be written at once after another that lasts.
  std::string told() {
    progress_.line("");
    const auto before = written().size();
    progress_.tick();
    return written().substr(before);
  }

  std::unique_ptr<std::FILE, int (*)(std::FILE*)> log_{std::tmpfile(), std::fclose};
  std::chrono::steady_clock::time_point now_;
  SweepProgress progress_{log_.get(), 3, 6, [this] { return now_; }};

 private:
  std::string written() {
    std::string bytes(10000, '\0');
    std::rewind(log_.get());
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), log_.get()));
    return bytes;
  }
};

TEST_F(SweepProgressInALog, NamesARunOnceItTakesTwentySeconds) {
  pass(3000);
  progress_.begin("a", 1);

  pass(19900);
  EXPECT_EQ(told(), "");
  pass(100);
  EXPECT_EQ(told(), "[1/3] a  running 20 s, elapsed 23 s\n");
  progress_.end();
  pass(60000);
  EXPECT_EQ(told(), "") << "nothing runs";
}

TEST_F(SweepProgressInALog, NamesTheOldestOfParallelRunsAndCountsTheOthers) {
  progress_.begin("a-w16", 1);
  pass(5000);
  progress_.begin("a-w1", 1);
  pass(20000);
  EXPECT_EQ(told(), "[2/3] a-w16 and 1 more  running 25 s, elapsed 25 s\n");

  progress_.begin("a-w4", 1);
  EXPECT_EQ(told(), "[3/3] a-w16 and 2 more  running 25 s, elapsed 25 s\n");
}

// Two units in 30 s: the four that are left take 60 s.
TEST_F(SweepProgressInALog, NamesTheRunThatEnded) {
  progress_.begin("a-w16", 1);
  progress_.begin("a-w1", 2);
  pass(30000);
  progress_.end("a-w1");

  EXPECT_EQ(told(), "[2/3] a-w16  running 30 s, elapsed 30 s, about 60 s left\n");
  progress_.end("a-w16");
  EXPECT_EQ(told(), "") << "both have ended";
}

// 15 s a unit: of the second run, which is the last, 30 s, of which 20 have passed.
TEST_F(SweepProgressInALog, CountsKeptRunsWithoutTime) {
  progress_.skip(2);
  progress_.begin("a", 2);
  pass(30000);
  progress_.end("a");
  progress_.begin("b", 2);
  pass(20000);

  EXPECT_EQ(told(), "[3/3] b  running 20 s, elapsed 50 s, about 10 s left\n");
}

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
    remaining.end(now, 1);
  }
  return left;
}

bool climbs(const std::vector<double>& left) {
  for (std::size_t i = 1; i < left.size(); ++i) {
    if (left[i] > left[i - 1] + 1e-9) return true;
  }
  return false;
}

TEST(RemainingTime, DoesNotGrowWhileRunsAreOnTime) {
  RemainingTime alike(10), quicker(10);

  EXPECT_FALSE(climbs(told(alike, std::vector(10, 2.0))));
  EXPECT_FALSE(climbs(told(quicker, {3, 2, 2.5, 1, 2, 1.5, 2, 2, 1, 1})));
}

TEST(RemainingTime, FallsAsTimePasses) {
  RemainingTime remaining(4);

  const auto left = told(remaining, {2, 2, 2, 2});

  EXPECT_NEAR(left.front(), 6, 1e-9) << "nothing is told before the first has ended";
  EXPECT_NEAR(left.back(), 0.1, 1e-6);
}

TEST(RemainingTime, GrowsIfARunTakesLonger) {
  RemainingTime remaining(10);

  EXPECT_TRUE(climbs(told(remaining, {1, 1, 8, 1})));
}

TEST(RemainingTime, IsWeightedByTheCostOfRuns) {
  RemainingTime remaining(11);
  remaining.begin(0, 1);
  remaining.end(2, 1);
  remaining.begin(2, 10);

  EXPECT_NEAR(*remaining.left_s(2), 20, 1e-9);
  EXPECT_NEAR(*remaining.left_s(12), 10, 1e-9);
}

TEST(RemainingTime, IgnoresKeptRuns) {
  RemainingTime remaining(10);
  remaining.skip(8);
  EXPECT_FALSE(remaining.left_s(0));
  remaining.begin(5, 1);
  remaining.end(6, 1);
  remaining.begin(6, 1);

  EXPECT_NEAR(*remaining.left_s(6), 1, 1e-9);
  remaining.end(7, 1);
  EXPECT_FALSE(remaining.left_s(7)) << "nothing is left";
}

// A unit of work takes 10 s. Of six one ended at 10 s, two have been under way since then, three are to come.
TEST(RemainingTime, CountsParallelRunsThatContinueAsRunning) {
  RemainingTime remaining(6);
  remaining.begin(0, 1);
  remaining.begin(5, 2);
  remaining.end(10, 1);

  EXPECT_NEAR(*remaining.left_s(10), 20 + 30, 1e-9);
  EXPECT_NEAR(*remaining.left_s(31), 30, 1e-9) << "since 30 they are late: what comes after them is left";
}

TEST(RemainingTime, AParallelRunIsNotLateBecauseAnotherStarts) {
  RemainingTime remaining(6);
  remaining.begin(0, 1);
  remaining.end(10, 1);
  remaining.begin(10, 2);
  remaining.begin(15, 1);

  EXPECT_NEAR(*remaining.left_s(15), 30 - 5 + 20, 1e-9);
  EXPECT_NEAR(*remaining.left_s(32), 30 - 22 + 20, 1e-9) << "the three under way have until 40";
}

TEST(RemainingTime, CountsTheTimeBetweenRuns) {
  RemainingTime remaining(4);
  remaining.begin(0, 1);
  remaining.end(2, 1);
  remaining.begin(4, 1);
  remaining.end(6, 1);

  EXPECT_NEAR(*remaining.left_s(6), 6, 1e-9) << "two of four in 6 s";
}

// 2 s a unit, and ten of them: the end was told to be at 20 s.
TEST(RemainingTime, IsStableBetweenRunsAndDuringALargeOne) {
  RemainingTime remaining(10);
  remaining.begin(0, 1);
  remaining.end(2, 1);
  EXPECT_NEAR(*remaining.left_s(2), 18, 1e-9);

  EXPECT_NEAR(*remaining.left_s(5), 15, 1e-9) << "nothing runs";
  remaining.begin(6, 3);
  remaining.end(11, 3);
  EXPECT_NEAR(*remaining.left_s(11), 9, 1e-9) << "5 s, where 6 s were expected";
}

TEST(EstimateText, IsInSecondsAndThenInMinutes) {
  EXPECT_EQ(estimate_text(40.4), "about 40 s left");
  EXPECT_EQ(estimate_text(89.4), "about 89 s left");
  EXPECT_EQ(estimate_text(90), "about 2 min left");
  EXPECT_EQ(estimate_text(200), "about 3 min left");
}

}  // namespace
}  // namespace plumbline::testing
