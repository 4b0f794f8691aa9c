// SPDX-License-Identifier: BSD-3-Clause
// Parallel jobs: --jobs, with fakes of launcher and trainers that wait for each other.
#include <set>

#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

class Jobs : public RunSweep {
 protected:
  /// First action of a pipeline's first rank: it enters, waits until `side_by_side` of its round have entered, and
  /// leaves.
  void meet(int side_by_side) {
    const std::string together = std::to_string(side_by_side);
    behave(
        "case $me-$(basename $record) in 0-*-w2)\n"
        "  exec 9> $base/lock; flock 9\n"
        "  echo x >> $base/entered; mine=$(( $(stat -c %s $base/entered) / 2 )); touch $base/in-$mine\n"
        "  ls $base/in-* | wc -l >> $base/inside\n"
        "  flock -u 9; exec 9>&-\n"
        "  round=$(( (mine - 1) / " +
        together +
        " )); echo $round >> $base/rounds\n"
        "  for ((i = 0; i < 3000; i++)); do\n"
        "    (( $(stat -c %s $base/entered) / 2 >= (round + 1) * " +
        together +
        " )) && break; sleep 0.01\n"
        "  done\n"
        "  (( i < 3000 )) || exit 1\n"
        "  sleep 0.1; rm $base/in-$mine ;;\n"
        "esac\n");
  }
  /// The distinct lines of a file in the folder.
  std::set<std::string> lines_of(const std::string& file) const {
    std::set<std::string> lines;
    std::ifstream in(folder_ / file);
    for (std::string line; std::getline(in, line);) lines.insert(line);
    return lines;
  }
};

TEST_F(Jobs, SixteenCellsOfTwoRanksOnFourSlotsTakeEightRounds) {
  std::string cells;
  for (int length = 1; length <= 16; ++length) {
    cells += "[[cell]]\nrun = \"a.toml\"\nworld_size = 2\nlengths = [4, " + std::to_string(length + 4) + "]\n";
  }
  sweep_file("checks = [\"loss\"]\n" + cells);
  options_.jobs = 4;
  meet(2);

  const auto result = run();

  EXPECT_TRUE(result.verdict.holds) << bytes_of(folder_ / "log");
  EXPECT_THAT(result.verdict.cells, SizeIs(16));
  EXPECT_THAT(lines_of("rounds"), SizeIs(8));
  EXPECT_THAT(lines_of("inside"), ElementsAre("1", "2")) << "never more than two at a time";
}

TEST_F(Jobs, TheVerdictIsInTheFilesOrder) {
  options_.jobs = 8;
  behave("[ $(basename $record) = a-1f1b-w1 ] && sleep 0.6\n");

  const auto result = run();

  EXPECT_TRUE(result.verdict.holds) << bytes_of(folder_ / "log");
  EXPECT_THAT(finished(result.verdict), ElementsAre("a-1f1b-w1", "a-1f1b-w2", "b-1f1b-w1", "b-1f1b-w2"));
}

TEST_F(Jobs, AKilledRankEndsOnlyItsCase) {
  options_.jobs = 8;
  behave(
      "[ $(basename $record) = a-1f1b-w2 ] && { page $record $me 1 -1 ${me}B3; sleep 0.2; [ $me = 1 ] && kill -KILL "
      "$$; sleep 20; }\n"
      "[ $(basename $record) = b-1f1b-w2 ] && { page $record $me 1 -1 ${me}B3; sleep 1.5; }\n");

  const auto result = run();

  EXPECT_EQ(result.verdict.counts.at("cases_holding"), 3) << bytes_of(folder_ / "log");
  const auto killed = std::ranges::find(judged_, "a-1f1b-w2", &CellPlan::id);
  EXPECT_THAT(killed->launch->words, HasSubstr("rank 1 was killed by signal 9 (SIGKILL) in 1B3 of step 1"));
}

TEST_F(Jobs, CtrlCEndsAllRuns) {
  options_.jobs = 8;
  sweep_file("run = [\"a.toml\"]\nworld_sizes = [1, 2]\nschedules = [\"1f1b\"]\n");
  behave(
      "case $(basename $record) in a-1f1b-w*) echo $$ > $base/pid-$(basename $record)-$me\n"
      "[ $(basename $record)-$me = a-1f1b-w2-1 ] && { until [ -s $base/pid-a-1f1b-w1-0 -a -s $base/pid-a-1f1b-w2-0 ]; "
      "do sleep 0.02; done; kill -INT " +
      std::to_string(getpid()) + "; }; sleep 600 ;; esac\n");

  EXPECT_THAT(error_of<SystemError>([&] { run(); }), HasSubstr("stopped by SIGINT"));
  for (const std::string file : {"pid-a-1f1b-w1-0", "pid-a-1f1b-w2-0", "pid-a-1f1b-w2-1"})
    EXPECT_FALSE(process_state(std::atoi(bytes_of(folder_ / file).c_str()))) << file;
}

// As by "| head": what runs beside the one that is told of would go on without plumbline.
TEST_F(Jobs, AClosedLogStopsAllRuns) {
  options_.jobs = 8;
  behave("[ $(basename $record) = b ] && { echo $$ > $base/pid; sleep 600; }\n");
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  std::FILE* log = fdopen(ends[1], "w");

  EXPECT_THAT(error_of<SystemError>([&] { run_sweep(options_, services_, log); }),
              AllOf(HasSubstr("stopped by SIGPIPE"), HasSubstr("--resume")));

  EXPECT_FALSE(process_state(std::atoi(bytes_of(folder_ / "pid").c_str())));
  const auto before = signal(SIGPIPE, SIG_IGN);  // what the log still holds is lost
  std::fclose(log);
  signal(SIGPIPE, before);
}

}  // namespace
}  // namespace plumbline::testing
