#include "harness/bench/bench_page.hpp"

#include <gmock/gmock.h>

#include "harness/bench/bench_plots.hpp"
#include "tests/harness/bench/bench_results.hpp"

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
