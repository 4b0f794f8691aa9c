// `plumbline history`: what each subcommand says and writes.
#include "harness/commands/history_command.hpp"

#include "harness/history/history_file.hpp"
#include "tests/harness/bench/bench_results.hpp"
#include "tests/harness/commands/finished_sweep.hpp"
#include "tests/harness/history/rows.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class HistoryCommand : public ::testing::Test {
 protected:
  /// A bench of three cells.
  std::string bench(double noise) {
    BenchResult result = bench_result();
    result.noise = noise;
    write_json(folder_ / "bench.json", to_json(result));
    return folder_.path().string();
  }
  /// Two days of one run, one of another.
  void keep_two_runs() {
    HistoryRow other = history_row_of(0);
    other.run = "quick-afab-w2";
    append_history(file_, {history_row_of(0), history_row_of(1), other});
  }
  Result run(const std::string& words) {
    return result_of(add_history_command, "history " + words + " --history " + file_);
  }

  TemporaryFolder folder_;
  const std::string file_ = (folder_ / "h.csv").string();
};

TEST_F(HistoryCommand, WhatIsAddedIsCountedAndWhatWasThereAlready) {
  const std::string sweep = bench(0.02);

  EXPECT_EQ(run("add " + sweep).said, file_ + ": 3 rows added\n");
  const Result again = run("add " + sweep);
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(again.said, file_ + ": 0 rows added, 3 were there already\n");
}

TEST_F(HistoryCommand, WhatIsLeftEmptyIsTold) {
  EXPECT_EQ(run("add " + bench(0.2)).said,
            file_ + ": 3 rows added\nleft empty: speeds of bench tiny: the machine was not quiet (docs/bench.md)\n");
}

TEST_F(HistoryCommand, ShowIsOfAllRunsOrThoseOfThatNameAndTellsPointsWhereAsked) {
  keep_two_runs();
  const std::string point = "    2026-01-02T10:00:00Z  c00001  holds  ";

  EXPECT_THAT(run("show").said,
              AllOf(StartsWith("3 rows, 2 commits, 1 machine\n"), HasSubstr("quick-1f1b-w2: 2 points"),
                    HasSubstr("quick-afab-w2: 1 point"), Not(HasSubstr(point))));
  EXPECT_THAT(run("show --run 1f1b --points").said,
              AllOf(HasSubstr("quick-1f1b-w2: 2 points"), Not(HasSubstr("quick-afab-w2")), HasSubstr(point)));
}

TEST_F(HistoryCommand, ThePageIsWrittenBesideTheHistoryAndNamed) {
  keep_two_runs();
  const std::string before = bytes_of(file_), out = (folder_ / "p.html").string();

  const Result drawn = run("page --out " + out);

  EXPECT_EQ(drawn.code, 0);
  EXPECT_EQ(drawn.said, out + "\n");
  EXPECT_THAT(bytes_of(out), StartsWith("<!DOCTYPE html>"));
  EXPECT_EQ(bytes_of(file_), before);
}

TEST_F(HistoryCommand, OneThatIsNotThereIsRefusedWithWhatBeginsOne) {
  for (const char* command : {"show", "page"}) {
    const Result refused = run(command);
    EXPECT_EQ(refused.code, 2);
    EXPECT_EQ(refused.said, file_ + ": there is no such history; plumbline history add begins one");
  }
}

}  // namespace
}  // namespace plumbline::testing
