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

TEST_F(SweepProgressInALog, OfRunsSideBySideNamesTheOldestAndCountsTheOthers) {
  progress_.begin("a-w16", 1);
  pass(5000);
  progress_.begin("a-w1", 1);
  pass(20000);
  EXPECT_EQ(told(), "[2/3] a-w16 and 1 more  running 25 s, elapsed 25 s\n");

  progress_.begin("a-w4", 1);
  EXPECT_EQ(told(), "[3/3] a-w16 and 2 more  running 25 s, elapsed 25 s\n");
}

// Two units in 30 s: the four that are left take 60 s.
TEST_F(SweepProgressInALog, TheOneThatEndsIsTheOneNamedAndTheOthersAreStillToCome) {
  progress_.begin("a-w16", 1);
  progress_.begin("a-w1", 2);
  pass(30000);
  progress_.end("a-w1");

  EXPECT_EQ(told(), "[2/3] a-w16  running 30 s, elapsed 30 s, about 60 s left\n");
  progress_.end("a-w16");
  EXPECT_EQ(told(), "") << "both have ended";
}

// 15 s a unit: of the second run, which is the last, 30 s, of which 20 have passed.
TEST_F(SweepProgressInALog, WhatIsKeptIsCountedAndTakesNoTime) {
  progress_.skip(2);
  progress_.begin("a", 2);
  pass(30000);
  progress_.end("a");
  progress_.begin("b", 2);
  pass(20000);

  EXPECT_EQ(told(), "[3/3] b  running 20 s, elapsed 50 s, about 10 s left\n");
}

}  // namespace
}  // namespace plumbline::testing
