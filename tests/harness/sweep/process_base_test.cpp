#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

TEST_F(RunSweep, WhatAProcessTakesBesidesIsMeasuredOnceForEachWorldSize) {
  behave(bases_leave_records());

  run();

  const auto bases = base_calls();
  ASSERT_THAT(bases, SizeIs(3)) << "one of each world size, whatever the run trains, and one on one device";
  EXPECT_THAT(bases[0], MatchesRegex("plumbline-pipeline base-[0-9a-f]{6}-w1"));
  EXPECT_THAT(bases[1], MatchesRegex("plumbline-reference base-[0-9a-f]{6}-reference"));
  EXPECT_THAT(bases[2], MatchesRegex("plumbline-pipeline base-[0-9a-f]{6}-w2"));
  const fs::path launch = folder_ / "out/launches" / bases[2].substr(bases[2].find("base-"));
  EXPECT_THAT(bytes_of(launch / "command.txt"), HasSubstr("fake-mpirun -n 2 "));
  EXPECT_THAT(bytes_of(launch / "run.toml"), HasSubstr("model.json"));
  EXPECT_THAT(bytes_of(launch / "model.json"), HasSubstr("\"num_hidden_layers\": 1"));
  ASSERT_THAT(judged_, SizeIs(4));
  for (const CellPlan& plan : judged_) {
    ASSERT_TRUE(plan.process_base) << plan.why_no_process_base;
    EXPECT_EQ(plan.process_base->rank_bytes, 90 << 20);
    EXPECT_EQ(plan.process_base->reference_bytes, 60 << 20);
  }
}

TEST_F(RunSweep, ABaseWithoutARecordIsToldToTheJudge) {
  run();

  ASSERT_THAT(base_calls(), SizeIs(2)) << "the stand-ins write no record, and a reference's base alone is of no use";
  ASSERT_THAT(judged_, SizeIs(4));
  for (const CellPlan& plan : judged_) {
    EXPECT_FALSE(plan.process_base);
    EXPECT_THAT(plan.why_no_process_base, HasSubstr("left no record"));
  }
}

TEST_F(RunSweep, ABaseThatFailedIsToldToTheJudge) {
  behave("case $(basename $record) in base-*-w2) echo 'plumbline-pipeline: no slots' >&2; exit 1 ;; esac\n");

  EXPECT_TRUE(run().verdict.holds);

  EXPECT_THAT(judged_[1].why_no_process_base,
              AllOf(HasSubstr("-w2 to measure a base by failed"), HasSubstr("no slots")));
}

TEST_F(RunSweep, NothingIsMeasuredWhereMemoryIsNotAskedFor) {
  sweep_file("run = [\"a.toml\"]\nworld_sizes = [2]\nschedules = [\"1f1b\"]\nchecks = [\"loss\"]\n");

  run();

  EXPECT_THAT(base_calls(), IsEmpty());
}

TEST_F(RunSweep, ABaseIsKeptForTheCellsThatAreGoneOnWith) {
  const std::string bases = bases_leave_records();
  behave(bases + "[ $(basename $record) = b-1f1b-w2 ] && { [ $me = 1 ] && kill -INT " + std::to_string(getpid()) +
         "; sleep 600; }\n");
  error_of<SystemError>([&] { run(); });
  ASSERT_THAT(base_calls(), SizeIs(3));
  behave(bases);
  fs::remove(folder_ / "calls");
  options_.resume = true;

  EXPECT_TRUE(run().verdict.holds);

  EXPECT_THAT(calls(), ElementsAre("plumbline-pipeline b-1f1b-w2"));
  EXPECT_THAT(base_calls(), IsEmpty());
  EXPECT_TRUE(judged_.back().process_base) << judged_.back().why_no_process_base;
}

TEST_F(RunSweep, TheRankThatTakesMostIsTheBaseButNotMoreThanTheReferenceAndWhatMpiMayTake) {
  const std::string leave = bases_leave_records();
  SyntheticRun large = synthetic_candidate({});
  for (MemoryRow& row : large.ranks[1].memory) row.process_private_bytes = 100 << 20;
  const auto write = [&] {
    fs::remove_all(folder_ / "of-w2");
    write_run(large, folder_ / "of-w2");
  };
  sweep_file("run = [\"a.toml\"]\nworld_sizes = [2]\nschedules = [\"1f1b\"]\n");
  behave(leave);

  write();
  run();
  for (MemoryRow& row : large.ranks[1].memory) row.process_private_bytes = 1 << 30;
  write();
  options_.out = folder_ / "another";
  run();

  ASSERT_THAT(judged_, SizeIs(2));
  EXPECT_EQ(judged_[0].process_base->rank_bytes, 100 << 20) << "rank 1's";
  EXPECT_EQ(judged_[1].process_base->rank_bytes, (60 + 256 + 2 * 8) << 20) << "a leak of every run is no base";
}

TEST_F(RunSweep, RunsThatComputeOtherwiseHaveBasesOfTheirOwn) {
  folder_.file("b.toml",
               "[model]\nconfig = \"config.json\"\n[data]\nlengths = [4, 9]\n[train]\nprecision = \"bfloat16\"\n");
  sweep_file("run = [\"a.toml\", \"b.toml\"]\nworld_sizes = [2]\nschedules = [\"1f1b\"]\n");
  behave(bases_leave_records());

  run();

  EXPECT_THAT(base_calls(), SizeIs(4)) << "each a pipeline's and a reference's";
}

TEST_F(RunSweep, ABaseThatFailedIsMeasuredAgainWhenTheSweepIsGoneOnWith) {
  sweep_file("run = [\"a.toml\"]\nworld_sizes = [2]\nschedules = [\"1f1b\"]\n");
  const std::string leave = bases_leave_records();
  behave("case $(basename $record) in base-*-reference) exit 1 ;; esac\n" + leave);
  run();
  EXPECT_THAT(judged_.at(0).why_no_process_base, HasSubstr("-reference to measure a base by failed"));
  behave(leave);
  fs::remove(folder_ / "calls");
  fs::remove(folder_ / "out/cells/a-1f1b-w2/cell.json");
  options_.resume = true;

  run();

  EXPECT_THAT(base_calls(), ElementsAre(HasSubstr("plumbline-reference base-")));
  EXPECT_TRUE(judged_.at(1).process_base);
}

}  // namespace
}  // namespace plumbline::testing
