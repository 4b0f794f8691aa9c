// SPDX-License-Identifier: BSD-3-Clause
// `plumbline bench`: the timed runs and rounds, the output, and the exit code.

#include "harness/commands/commands.hpp"
#include "support/json.hpp"
#include "tests/harness/bench/timed_sweep.hpp"
#include "tests/harness/commands/finished_sweep.hpp"

namespace plumbline::testing {
namespace {

class BenchCommand : public TimedSweep {
 protected:
  /// `words` stand before the sweep file, which an option must not take for its own.
  Result run(const std::string& words) {
    const auto add = [this](CLI::App& app) {
      return add_bench_command(app, "plumbline", folder_.path(), {{"version", "1"}});
    };
    return result_of(add, "bench " + words + " " + sweep_file().string() + " --out " + out_.string());
  }

  const std::filesystem::path out_ = folder_ / "out";
};

TEST_F(BenchCommand, TimesTheCellsAskedForSoOftenAndSaysWhereTheResultsAre) {
  const Result ended = run("--rounds 2 --quiet 0.5 --cells a-1f1b-w2");

  EXPECT_EQ(ended.code, 0) << ended.said;
  EXPECT_THAT(ended.said, EndsWith("results: " + out_.string() + "\n"));
  EXPECT_TRUE(std::filesystem::exists(out_ / "bench.md"));
  const Json benchmarks = read_json(out_ / "bench.json").at("benchmarks");
  ASSERT_THAT(benchmarks, SizeIs(4)) << "two rounds of the reference and of the cell";
  EXPECT_EQ(benchmarks[2].at("name"), "a-1f1b-w2");
  EXPECT_EQ(benchmarks[3].at("repetition_index"), 1);
  EXPECT_THAT(ended.said, HasSubstr("limit 50.0 %"));
}

TEST_F(BenchCommand, ARunThatFailsIsToldAndEndsWithOne) {
  folder_.file("behaviour",
               "case $(basename $record)-$me in *afab*-0) ended \"$record\" $me error 1; exit 1 ;; esac\n");

  const Result ended = run("--rounds 2 --cells a-afab-w2");

  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.said, HasSubstr("a-afab-w2: "));
}

// One round is refused, and only once the words were taken.
TEST_F(BenchCommand, QuietIsAShareOfAThousandthToTen) {
  for (const char* share : {"0.001", "0.05", "10"})
    EXPECT_THAT(run(std::string("--rounds 1 --quiet ") + share).said, HasSubstr("--rounds 1: ")) << share;
  for (const char* share : {"0", "11"})
    EXPECT_THAT(run(std::string("--rounds 1 --quiet ") + share).said, HasSubstr("--quiet: ")) << share;
}

}  // namespace
}  // namespace plumbline::testing
