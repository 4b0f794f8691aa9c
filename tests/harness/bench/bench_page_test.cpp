#include "harness/bench/bench_page.hpp"

#include <gmock/gmock.h>

#include "harness/bench/bench_plots.hpp"
#include "tests/harness/bench/bench_results.hpp"
#include "tests/markup_text.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(BenchPage, SaysThatTheMachineWasQuietOrThatItWasNot) {
  BenchResult result = bench_result();
  EXPECT_THAT(bench_page(result), AllOf(HasSubstr("The machine was quiet"), HasSubstr("within 2.0 % of 1")));
  EXPECT_THAT(bench_text(result), ::testing::StartsWith("The machine was quiet"));

  result.noise = 0.31;
  EXPECT_THAT(bench_page(result), AllOf(HasSubstr("THE MACHINE WAS NOT QUIET"), HasSubstr("within 31.0 % of 1")));
  EXPECT_THAT(bench_text(result), ::testing::StartsWith("THE MACHINE WAS NOT QUIET"));
}

TEST(BenchPage, WhatIsAtTheLimitIsQuiet) {
  BenchResult result = bench_result();
  result.noise = result.quiet_limit = 0.03;
  EXPECT_THAT(bench_text(result), HasSubstr("within 3.0 % of 1 (limit 3.0 %)."));
  result.noise = 0.01;
  EXPECT_THAT(bench_text(result), HasSubstr("within 1.0 % of 1 (limit 3.0 %)."));
  result.noise = 0.04;
  EXPECT_THAT(bench_text(result), HasSubstr("within 4.0 % of 1, and not within 3.0 %."));
}

/// Two references; of the second one cell of which all figures differ.
BenchResult two_references() {
  BenchResult result = bench_result();
  result.references.push_back({"small", {{"seed", 1}}, {80, 78, 83}, {7000, 6800, 7300}, {1.01, 0.96, 1.04}});
  BenchCell cell = bench_cell("zb-v", 2, 1.5);
  cell.id = "small-zb-v-w2";
  cell.reference = "small";
  cell.step_ms = {50.12, 49.25, 52.5};
  cell.tokens_per_s = {20001, 19002, 21003};
  cell.speed = {1.5, 1.4, 1.6};
  cell.fast_speed = 1.53;
  cell.efficiency = MedianInterval{0.75, 0.625, 0.875};
  cell.bubble = BenchBubble{{0.14, 0.13, 0.15}, 0.11, 0.125};
  cell.simulated_speed = 1.75;
  result.cells.insert(result.cells.begin() + 1, cell);
  return result;
}

TEST(BenchPage, EachReferencesTablesHoldItsCellsAndTheirFigures) {
  const std::string page = bare(bench_page(two_references()));

  EXPECT_EQ(
      section_of(page, "<h2>small", "<h3>Against"),
      "<h2>small</h2>\n<p>The reference: step 80.0 [78.0, 83.0] ms, 7000 [6800, 7300] tokens/s; its second run of "
      "each round over the first 1.010 [0.960, 1.040].</p>\n<h3>Speed</h3>\n" +
          section_of(page.substr(page.find("<h2>small")), "<figure>", "<div>") +
          "<div><table><thead><tr><th>cell</th><th>P</th><th>step, ms</th><th>tokens/s</th><th>tokens/s over the "
          "reference&#39;s</th><th>fastest tenth</th><th>over P times</th></tr></thead><tbody>\n"
          "<tr><td>small-zb-v-w2</td><td>2</td><td>50.1 [49.2, 52.5]</td><td>20001 [19002, 21003]</td>"
          "<td>1.500 [1.400, 1.600]</td><td>1.530</td><td>0.750 [0.625, 0.875]</td></tr>\n"
          "</tbody></table></div>\n<p>Cells of more ranks than cores share cores: their figures tell of this "
          "machine, not of the software, and are drawn nowhere.</p>\n");
  EXPECT_THAT(page,
              HasSubstr("<tr><th>cell</th><th>P</th><th>bubble measured, %</th><th>simulated, %</th><th>closed form, "
                        "%</th><th>speed that it allows</th><th>share reached</th></tr></thead><tbody>\n"
                        "<tr><td>small-zb-v-w2</td><td>2</td><td>14.0 [13.0, 15.0]</td><td>11.0</td><td>12.5</td>"
                        "<td>1.750</td><td>86 %</td></tr>\n</tbody>"))
      << "1.5 of 1.75";
  const std::string tiny = section_of(page, "<h2>tiny", "<h2>small");
  EXPECT_THAT(tiny, HasSubstr("<h3>Against the schedule</h3>\n<figure><svg>"));
  EXPECT_THAT(tiny, AllOf(HasSubstr("The reference: step 100.0 [98.0, 103.0] ms"), Not(HasSubstr("zb-v"))));
  EXPECT_THAT(tiny,
              HasSubstr("<td>tiny-1f1b-w4 (more ranks than cores)</td><td>4</td><td>50.0 [49.0, 52.0]</td><td>20000 "
                        "[19000, 21000]</td><td>1.600 [1.584, 1.616]</td><td>1.632</td><td>-</td></tr>"));
  EXPECT_THAT(tiny,
              HasSubstr("<tbody>\n<tr><td>tiny-1f1b-w2</td><td>2</td><td>14.0 [13.0, 15.0]</td><td>11.0</td><td>-"
                        "</td><td>1.780</td><td>93 %</td></tr>\n<tr><td>tiny-1f1b-w4 (more ranks than "
                        "cores)</td><td>4</td><td>14.0 [13.0, 15.0]</td><td>11.0</td><td>-</td><td>-</td><td>-</td>"
                        "</tr>\n</tbody>"))
      << "one rank has no bubble; what shares cores reaches nothing";
}

TEST(BenchPage, BeginsWithMachineRoundsAndStepsAndWhatTheFiguresAre) {
  BenchResult result = bench_result();
  EXPECT_THAT(bench_page(result),
              AllOf(HasSubstr("<h1>Bench tiny</h1>\n<p>Processor Some Processor, 2 cores; LibTorch 2.11.0, commit abc; "
                              "begun 2026-11-22T10:00:00Z.</p>\n<p>The machine"),
                    HasSubstr("6 rounds, in each every reference twice and every cell once, in turn; 9 steps of each "
                              "run count, the first is left out."),
                    HasSubstr("order statistics that hold it with 96.9 %.")));
  result.machine = {{"machine", "none"}};
  result.noise = 1;
  EXPECT_THAT(bench_page(result),
              AllOf(HasSubstr("Processor unknown, 2 cores; LibTorch unknown, commit unknown; begun"),
                    HasSubstr("<p class=\"bad\">THE MACHINE WAS NOT QUIET")));
}

TEST(BenchPage, ATextHasALineForEachCell) {
  BenchResult result = two_references();
  result.failed = {"tiny-zb-v-w2: rank 1 was killed"};

  const std::string text = bench_text(result);

  EXPECT_EQ(
      text.substr(text.find('\n')),
      "\ntiny-1f1b-w1: tokens/s over the reference's 0.980 [0.970, 0.990]\n"
      "small-zb-v-w2: tokens/s over the reference's 1.500 [1.400, 1.600], its schedule allows 1.750; bubble 14.0 %, "
      "simulated 11.0 %\n"
      "tiny-1f1b-w2: tokens/s over the reference's 1.650 [1.633, 1.666], its schedule allows 1.780; bubble 14.0 %, "
      "simulated 11.0 %\n"
      "tiny-1f1b-w4: tokens/s over the reference's 1.600 [1.584, 1.616], more ranks than cores; bubble 14.0 %, "
      "simulated 11.0 %\n"
      "left out: tiny-zb-v-w2: rank 1 was killed\n");
}

TEST(BenchPage, CellsOfMoreRanksThanCoresAreTabledAndNeverDrawn) {
  const BenchResult result = bench_result();
  const std::string page = bench_page(result);

  EXPECT_THAT(page, AllOf(HasSubstr("tiny-1f1b-w4"), HasSubstr("more ranks than cores")));
  EXPECT_THAT(draw_bubbles(result, result.references[0]), AllOf(HasSubstr("1f1b, 2"), Not(HasSubstr("1f1b, 4"))));
  BenchResult only = result;
  only.cells = {result.cells[2]};
  EXPECT_EQ(draw_efficiency(only, only.references[0]), "");
  EXPECT_EQ(draw_bubbles(only, only.references[0]), "");
  EXPECT_THAT(draw_efficiency(result, result.references[0]), HasSubstr("role=\"img\""));
}

TEST(BenchPage, ShowsWhatTheScheduleAllowsAndTheShareOfIt) {
  EXPECT_THAT(bench_page(bench_result()),
              AllOf(HasSubstr("1.650 [1.633, 1.666]"), HasSubstr("1.780"), HasSubstr("93 %")));
}

TEST(BenchPage, WhatFailedAndWhateverNamesAreText) {
  BenchResult result = bench_result();
  result.name = "<script>";
  result.failed = {"tiny-zb-v-w2: rank 1 was <b>killed</b>"};
  result.machine["machine"]["cpu_model"] = "<i>fast</i>";
  result.cells[0].id = "<u>x</u>";

  EXPECT_THAT(bench_page(result),
              AllOf(Not(HasSubstr("<script>")), Not(HasSubstr("<b>")), Not(HasSubstr("<i>")), Not(HasSubstr("<u>")),
                    HasSubstr("Left out, it did not end well: tiny-zb-v-w2")));
}

TEST(BenchPage, TheSameResultGivesTheSameBytes) {
  EXPECT_EQ(bench_page(bench_result()), bench_page(bench_result()));
}

}  // namespace
}  // namespace plumbline::testing
