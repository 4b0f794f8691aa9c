// SPDX-License-Identifier: BSD-3-Clause
#include "harness/bench/bench_result.hpp"

#include "tests/harness/bench/bench_results.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

TEST(BenchText, SaysWhetherTheMachineWasQuiet) {
  BenchResult result = bench_result();
  EXPECT_THAT(bench_text(result),
              StartsWith("The machine was quiet: two runs of the same reference are within 2.0 % of "
                         "each other (limit 5.0 %)."));
  result.noise = 0.05;
  EXPECT_THAT(bench_text(result), StartsWith("The machine was quiet")) << "at the limit";
  result.noise = 0.31;
  EXPECT_THAT(bench_text(result),
              StartsWith("THE MACHINE WAS NOT QUIET: two runs of the same reference differ by up to 31.0 %"));
}

TEST(BenchText, IsATableWithARowForEachReferenceAndCell) {
  BenchResult result = bench_result();
  result.failed = {"tiny-zb-v-w2: rank 1 was killed"};
  const std::string text = bench_text(result);

  EXPECT_THAT(text, HasSubstr("median of 6 rounds [with its 97 % interval]"));
  EXPECT_EQ(
      text.substr(text.find("|---")),
      "|---|---|---|---|---|---|\n"
      "| tiny (reference) | 100.0 [98.0, 103.0] | 1 | - | - | - |\n"
      "| tiny-1f1b-w1 | 50.0 [49.0, 52.0] | 0.980 [0.970, 0.990] | - | - | - |\n"
      "| tiny-1f1b-w2 | 50.0 [49.0, 52.0] | 1.650 [1.633, 1.666] | 1.780 | 14.0 % | 11.0 % |\n"
      "| tiny-1f1b-w4 (more ranks than cores) | 50.0 [49.0, 52.0] | 1.600 [1.584, 1.616] | - | 14.0 % | 11.0 % |\n"
      "\nskipped: tiny-zb-v-w2: rank 1 was killed\n");
}

TEST(GoogleBenchmarkJson, HasAnEntryForEachRoundOfEachRun) {
  const Json json = google_benchmark_json(bench_result());

  ASSERT_EQ(json.at("benchmarks").size(), 8U);
  const Json& entry = json.at("benchmarks")[5];
  for (const char* key : {"name", "run_name"}) EXPECT_EQ(entry.at(key), "tiny-1f1b-w2");
  EXPECT_EQ(entry.at("run_type"), "iteration");
  EXPECT_EQ(entry.at("family_index"), 2);
  EXPECT_EQ(entry.at("repetitions"), 2);
  EXPECT_EQ(entry.at("repetition_index"), 1);
  EXPECT_EQ(entry.at("threads"), 2);
  EXPECT_EQ(entry.at("iterations"), 9);
  for (const char* key : {"real_time", "cpu_time"}) EXPECT_EQ(entry.at(key), 52.0);
  EXPECT_EQ(entry.at("time_unit"), "ms");
  EXPECT_EQ(entry.at("tokens_per_s"), 21000.0);
  EXPECT_DOUBLE_EQ(entry.at("speed").get<double>(), 1.01 * 1.65);
  EXPECT_FALSE(json.at("benchmarks")[0].contains("speed")) << "of a reference";
  EXPECT_EQ(json.at("context").at("quiet"), true);
  EXPECT_EQ(json.at("context").at("num_cpus"), 2);
}

}  // namespace
}  // namespace plumbline::testing
