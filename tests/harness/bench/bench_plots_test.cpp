// Where a bench's pictures put what was measured: each mark at its value, worked out by hand.
#include "harness/bench/bench_plots.hpp"

#include <gmock/gmock.h>

#include "reports/plot/marks.hpp"
#include "reports/plot/svg.hpp"
#include "tests/harness/bench/bench_results.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// On one and two ranks, by two schedules; one of another reference.
BenchResult measured() {
  BenchResult result = bench_result();
  result.cells = {bench_cell("zb-v", 2, 1.5), bench_cell("1f1b", 2, 1.6), bench_cell("1f1b", 1, 1)};
  result.cells[0].efficiency = MedianInterval{0.75, 0.5, 1};
  result.cells[0].bubble = BenchBubble{{0.14, 0.13, 0.15}, 0.11, 0.125};
  result.cells[2].efficiency = MedianInterval{1.5, 1.25, 2};
  result.cells[1].efficiency = MedianInterval{1, 0.875, 1.25};
  result.cells[1].bubble = BenchBubble{{0.16, 0.155, 0.2}, 0.1, std::nullopt};
  BenchCell other = bench_cell("gpipe", 3, 9);
  other.reference = "another";
  result.cells.push_back(other);
  return result;
}

TEST(BenchPlots, EfficiencyStandsAtItsWorldSizeWithItsInterval) {
  const BenchResult result = measured();
  const std::string svg = draw_efficiency(result, result.references[0]);

  // Between the axes 900 x 242 pixels from (80, 272) up; worlds from 0.5 to 2.5, so that one is 450 wide; 1f1b, the
  // first in the alphabet but the second that appears, stands 0.1 = 45 pixels right of its place and zb-v as far left.
  // The top is 1.05 times the highest end of an interval, 2.1.
  EXPECT_THAT(svg, HasSubstr("M350 99.14m-3.2 -3.2h6.4v6.4h-6.4z")) << "1.5 on one rank, by the second schedule";
  EXPECT_THAT(svg, HasSubstr("M800 156.76m-3.2")) << "1 on two";
  EXPECT_THAT(svg, HasSubstr("\"M710 185.57m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0\""))
      << "0.75 on two, by the first, which has no other";
  EXPECT_THAT(svg, HasSubstr("<line x1=\"350\" y1=\"127.95\" x2=\"350\" y2=\"41.52\"")) << "from 1.25 to 2";
  EXPECT_THAT(svg, HasSubstr("<line x1=\"710\" y1=\"214.38\" x2=\"710\" y2=\"156.76\"")) << "from 0.5 to 1";
  EXPECT_THAT(svg, HasSubstr("<line x1=\"80\" y1=\"156.76\" x2=\"980\" y2=\"156.76\"")) << "P ranks, P times as fast";
  EXPECT_THAT(svg, AllOf(HasSubstr(plot::draw_points(0, {{12, 6}}) + plot::label(30, 10, "zb-v")),
                         HasSubstr(plot::draw_points(1, {{12, 6}}) + plot::label(30, 10, "1f1b")),
                         HasSubstr("P ranks P times as fast"), Not(HasSubstr("gpipe"))));
  EXPECT_THAT(svg, AllOf(HasSubstr("world size P (each rank a core)"), HasSubstr("tokens/s over P times the reference"),
                         HasSubstr("Efficiency against world size, tiny")));
}

TEST(BenchPlots, WhatIsSlowerThanTheReferenceLiesBelowTheLineOfOne) {
  BenchResult result = measured();
  result.cells = {result.cells[0]};
  result.cells[0].efficiency = MedianInterval{0.5, 0.25, 0.75};

  const std::string svg = draw_efficiency(result, result.references[0]);

  EXPECT_THAT(svg, HasSubstr("<line x1=\"80\" y1=\"41.52\" x2=\"980\" y2=\"41.52\"")) << "1 of 1.05";
  EXPECT_THAT(svg, HasSubstr("M755 156.76m-3.5")) << "the half of it, and one schedule stands at its world size";
}

TEST(BenchPlots, BubblesStandBesideEachOther) {
  const BenchResult result = measured();
  const std::string svg = draw_bubbles(result, result.references[0]);

  // 900 x 246 pixels from (80, 280) up; two cells of 450 each, their middles at 305 and 755, and 0.2 = 90 to either
  // side. The top is 1.1 times the highest end, 22 %.
  EXPECT_THAT(svg, HasSubstr("M215 123.45m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0M665 101.09m-3.5"))
      << "14 % and 16 % measured";
  EXPECT_THAT(svg, HasSubstr("<line x1=\"215\" y1=\"134.64\" x2=\"215\" y2=\"112.27\"")) << "from 13 % to 15 %";
  EXPECT_THAT(svg, HasSubstr("<line x1=\"665\" y1=\"106.68\" x2=\"665\" y2=\"56.36\"")) << "from 15.5 % to 20 %";
  EXPECT_THAT(svg, HasSubstr("M305 157m-3.2 -3.2h6.4v6.4h-6.4zM755 168.18m-3.2")) << "11 % and 10 % simulated";
  EXPECT_THAT(svg, HasSubstr("\"M395 140.23m0 -4l3.7 6.4h-7.4z\"")) << "12.5 % in closed form, of the one that has one";
  EXPECT_THAT(svg,
              AllOf(HasSubstr("zb-v, 2"), HasSubstr("1f1b, 2"), Not(HasSubstr("1f1b, 1")), Not(HasSubstr("gpipe"))));
  EXPECT_THAT(
      svg, AllOf(HasSubstr(plot::draw_points(0, {{12, 6}}) + plot::label(30, 10, "measured")),
                 HasSubstr(plot::draw_points(1, {{12, 6}}) + plot::label(30, 10, "simulated with the measured times")),
                 HasSubstr(plot::draw_points(2, {{12, 6}}) + plot::label(30, 10, "closed form"))));
  EXPECT_THAT(svg, AllOf(HasSubstr("schedule and world size"), HasSubstr("bubble, % of a rank"),
                         HasSubstr("Bubble measured, simulated and in closed form, tiny")));
}

TEST(BenchPlots, TheHighestOfSimulatedAndClosedFormLiesInThePictureToo) {
  BenchResult result = measured();
  result.cells = {result.cells[0]};
  result.cells[0].bubble = BenchBubble{{0.1, 0.1, 0.1}, 0.3, std::nullopt};
  EXPECT_THAT(draw_bubbles(result, result.references[0]), HasSubstr("M530 56.36m-3.2")) << "30 of 33 %";
  result.cells[0].bubble = BenchBubble{{0.1, 0.1, 0.1}, 0.1, 0.3};
  EXPECT_THAT(draw_bubbles(result, result.references[0]), HasSubstr("M710 56.36m0 -4")) << "30 of 33 %";
  result.cells[0].bubble = BenchBubble{{0.01, 0.01, 0.01}, 0.01, std::nullopt};
  EXPECT_THAT(draw_bubbles(result, result.references[0]), HasSubstr("M530 230.8m-3.2")) << "1 of 5 %, no less is drawn";
}

}  // namespace
}  // namespace plumbline::testing
