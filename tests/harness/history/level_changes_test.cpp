#include "harness/history/level_changes.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "support/files.hpp"

namespace plumbline {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<double> numbers(const std::string& name) {
  std::istringstream lines(read_file(PLUMBLINE_FIXTURES "/history/" + name));
  std::vector<double> values;
  for (double value = 0; lines >> value;) values.push_back(value);
  return values;
}

std::vector<LevelChange> changes_in(const std::string& name) {
  const auto points = numbers(name);
  EXPECT_GT(points.size(), 40U) << name;
  return find_level_changes(points);
}

TEST(LevelChanges, ASeriesWithoutAStepHasNone) {
  EXPECT_THAT(changes_in("flat.txt"), IsEmpty());
  EXPECT_THAT(changes_in("long-flat.txt"), IsEmpty());
  EXPECT_THAT(changes_in("outliers.txt"), IsEmpty());
}

TEST(LevelChanges, AStepIsFoundWhereItIsWithBothLevels) {
  const auto found = changes_in("step.txt");

  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, LevelChange::Kind::step);
  EXPECT_EQ(found[0].first, 40U);
  EXPECT_EQ(found[0].begin, 39U);
  EXPECT_NEAR(found[0].size(), -0.1, 0.01);
  EXPECT_LE(found[0].p, LevelChangeOptions{}.significance);
  EXPECT_GE(found[0].p, 1.0 / 2000) << "the order found is one of all";
}

TEST(LevelChanges, TwoStepsAreTwo) {
  const auto found = changes_in("two-steps.txt");

  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].first, 25U);
  EXPECT_NEAR(found[0].size(), 0.15, 0.01);
  EXPECT_NEAR(static_cast<double>(found[1].first), 55, 1);
  EXPECT_LT(found[1].size(), 0);
}

TEST(LevelChanges, AStepAmongOutliersIsFoundAsItIs) {
  const auto found = changes_in("step-and-outliers.txt");

  ASSERT_THAT(found, SizeIs(1));
  EXPECT_NEAR(static_cast<double>(found[0].first), 30, 2) << "outliers stand right beside it";
  EXPECT_NEAR(found[0].size(), -0.1, 0.02);
}

TEST(LevelChanges, AStepBelowTheSmallestThatIsToldIsNotTold) {
  EXPECT_THAT(changes_in("small-step.txt"), IsEmpty());

  LevelChangeOptions finer;
  finer.smallest = 0.005;
  EXPECT_THAT(find_level_changes(numbers("small-step.txt"), finer), SizeIs(1)) << "it is there, and clear";
}

TEST(LevelChanges, ADriftIsOneDriftAndNoSteps) {
  const auto found = changes_in("drift.txt");

  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, LevelChange::Kind::drift);
  EXPECT_EQ(found[0].begin, 0U);
  EXPECT_GT(found[0].first, 90U);
  EXPECT_LT(found[0].first, numbers("drift.txt").size());
  EXPECT_LT(found[0].size(), -0.2);
}

TEST(LevelChanges, OfTenThousandPointsAStepOfThreePercentIsFoundToThePoint) {
  const auto found = changes_in("long.txt");

  ASSERT_THAT(found, SizeIs(1));
  EXPECT_NEAR(static_cast<double>(found[0].first), 6200, 3);
}

/// Levels of 20 points each, with a hair of noise.
std::vector<double> levels_of(const std::vector<double>& levels) {
  std::vector<double> points;
  for (const double level : levels)
    for (int i = 0; i < 20; ++i) points.push_back(level * (1 + 0.0001 * (i * 7 % 20)));
  return points;
}

TEST(LevelChanges, BehindTheClearestStepTheNextIsFound) {
  const auto found = find_level_changes(levels_of({1.0, 1.5, 1.3}));
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].first, 20U) << "the clearest: it parts the lowest from all others";
  EXPECT_EQ(found[1].first, 40U);
}

TEST(LevelChanges, AStaircaseIsNoDrift) {
  const auto found = find_level_changes(levels_of({1.0, 1.2, 1.4}));
  ASSERT_THAT(found, SizeIs(2));
  for (const LevelChange& change : found) EXPECT_EQ(change.kind, LevelChange::Kind::step);
}

TEST(LevelChanges, WhatHasOnlyOneStepIsNoDrift) {
  std::vector<double> points;
  for (int i = 0; i < 15; ++i) points.push_back(1 + 0.01 * i);
  const auto found = find_level_changes(points);
  ASSERT_THAT(found, SizeIs(1)) << "of halves this short nobody can tell";
  EXPECT_EQ(found[0].kind, LevelChange::Kind::step);
}

TEST(LevelChanges, EqualPointsShareARank) {
  LevelChangeOptions easily;
  easily.significance = 0.15;
  const std::vector<double> points = {1, 1.1, 1, 1, 1.1, 1, 1, 1.1, 1.1, 1, 1.1, 1.1, 1, 1.1, 1.1, 1};
  EXPECT_THAT(find_level_changes(points, easily), IsEmpty()) << "five and three of each half is no level";
}

TEST(LevelChanges, ThreePointsAreNoLevel) {
  LevelChangeOptions easily;
  easily.significance = 0.1;
  std::vector<double> points = {1.3, 1.31, 1.32};
  for (int i = 0; i < 37; ++i) points.push_back(1 + 0.001 * (i * 7 % 37));
  for (const LevelChange& change : find_level_changes(points, easily)) EXPECT_GE(change.first, easily.least_points);
}

TEST(LevelChanges, TooFewPointsOrEqualOnesHaveNone) {
  EXPECT_THAT(find_level_changes({}), IsEmpty());
  EXPECT_THAT(find_level_changes(std::vector<double>{1, 2, 1, 2, 9, 9, 9}), IsEmpty());
  EXPECT_THAT(find_level_changes(std::vector<double>(200, 1.5)), IsEmpty());
}

TEST(LevelChanges, TheSamePointsGiveTheSameChanges) {
  const auto first = changes_in("two-steps.txt"), second = changes_in("two-steps.txt");

  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].p, second[i].p);
}

}  // namespace
}  // namespace plumbline
