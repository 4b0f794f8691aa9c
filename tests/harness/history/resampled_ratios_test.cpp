// Series drawn from ratios that were measured, not from a distribution that somebody thought of:
// fixtures/history/ratios.json is the bench.json of `plumbline bench fixtures/sweeps/ratios.toml --rounds 200`, with
// its machine.
#include <gmock/gmock.h>

#include <random>
#include <utility>
#include <vector>

#include "harness/bench/median_interval.hpp"
#include "harness/history/level_changes.hpp"
#include "record/bench_result.hpp"

namespace plumbline {
namespace {

constexpr std::size_t points_before = 15, points_after = 10;
constexpr int series_drawn = 20;
constexpr std::size_t near = 2;  ///< points by which the place may be off

const std::vector<double>& measured_ratios() {
  static const std::vector<double> ratios =
      read_bench_result(PLUMBLINE_FIXTURES "/history/ratios.json").cells.at(0).round_speeds;
  return ratios;
}

/// A point as `plumbline bench --rounds 24` makes it: the median of so many ratios, drawn with replacement. The machine
/// that they are of was far from quiet, and six are too few there: docs/history.md has the numbers.
double drawn_point(std::mt19937_64& random) {
  constexpr int rounds_of_a_point = 24;
  std::vector<double> rounds;
  for (int round = 0; round < rounds_of_a_point; ++round)
    rounds.push_back(measured_ratios()[static_cast<std::size_t>(random() % measured_ratios().size())]);
  return median_interval(std::move(rounds)).median;
}

/// Number `number` of the series, the last points times `factor`.
std::vector<double> drawn(int number, double factor) {
  std::mt19937_64 random(static_cast<std::uint64_t>(number));
  std::vector<double> points;
  for (std::size_t i = 0; i < points_before + points_after; ++i)
    points.push_back((i < points_before ? 1 : factor) * drawn_point(random));
  return points;
}

/// In how many series a step is found, and at its place.
struct Found {
  int any = 0, at_its_place = 0;
};

Found found_with(double factor) {
  Found found;
  for (int number = 0; number < series_drawn; ++number) {
    const auto changes = find_level_changes(drawn(number, factor));
    if (!changes.empty()) ++found.any;
    for (const LevelChange& change : changes) {
      if (change.first + near < points_before || change.first > points_before + near) continue;
      ++found.at_its_place;
      break;
    }
  }
  return found;
}

TEST(ResampledRatios, AreTwoHundredThatWereMeasured) {
  EXPECT_EQ(measured_ratios().size(), 200U);
}

TEST(ResampledRatios, AStepOfTenPercentIsFoundWithinTenPointsInEighteenOfTwentySeries) {
  EXPECT_GE(found_with(0.9).at_its_place, 18);
  EXPECT_GE(found_with(1.1).at_its_place, 18);
}

TEST(ResampledRatios, OfNoStepOneIsFoundInAtMostOneOfTwentySeries) {
  EXPECT_LE(found_with(1).any, 1);
}

}  // namespace
}  // namespace plumbline
