// SPDX-License-Identifier: BSD-3-Clause
#include "harness/bench/run_bench.hpp"

#include <unistd.h>

#include <memory>

#include "harness/bench/summarise_bench.hpp"
#include "record/record.hpp"
#include "reports/measured_timeline.hpp"
#include "support/error.hpp"
#include "tests/harness/bench/timed_sweep.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

class RunBench : public TimedSweep {
 protected:
  RunBench() {
    options_.sweep.sweep_file = sweep_file();
    options_.sweep.trainers = folder_.path();
    options_.sweep.out = folder_ / "out";
    options_.rounds = 2;
  }

  FinishedBench run() {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> log(std::fopen((folder_ / "log").c_str(), "a"), std::fclose);
    return run_bench(options_, log.get());
  }

  BenchOptions options_;
};

TEST_F(RunBench, TakesAllInTurnAndBeginsEachRoundWithAnother) {
  run();

  EXPECT_THAT(calls(), ElementsAre("a", "a-1f1b-w2", "a-afab-w2", "a-second",  //
                                   "a-1f1b-w2", "a-afab-w2", "a-second", "a"));
}

TEST_F(RunBench, WritesWhatItMeasuredWithoutTheFirstStep) {
  const FinishedBench finished = run();

  const BenchResult& result = finished.result;
  ASSERT_THAT(result.cells, SizeIs(2));
  EXPECT_DOUBLE_EQ(result.cells[0].speed.median, 1.5);
  EXPECT_EQ(result.cells[0].world, 2);
  EXPECT_EQ(result.steps, 1);
  EXPECT_EQ(result.rounds, 2);
  EXPECT_EQ(result.machine.at("machine").at("cores"), 2);
  EXPECT_DOUBLE_EQ(result.coverage, 0.5) << "of the median by the range of two";
  EXPECT_DOUBLE_EQ(result.noise, 0);
  EXPECT_TRUE(result.quiet());
  EXPECT_TRUE(result.cells[0].bubble);
  EXPECT_EQ(bytes_of(finished.folder / "bench.md"), bench_text(result));
  EXPECT_EQ(read_json(finished.folder / "bench.json"), google_benchmark_json(result));
}

TEST_F(RunBench, AStepTakesAsLongAsOnItsSlowestRankAndThePlanStandsBesideIt) {
  SyntheticRun pipeline = synthetic_candidate({});
  for (auto& row : pipeline.ranks.back().steps) row.seconds = 0.25;
  for (auto& row : pipeline.ranks.front().steps) row.seconds = 0.5;
  write_run(pipeline, folder_ / "uneven");

  const BenchRound round = measure_round(folder_ / "uneven");

  EXPECT_THAT(round.steps_ms, ::testing::Each(500));
  const MeasuredTimeline timeline = measure_timeline(read_record(folder_ / "uneven"));
  ASSERT_TRUE(round.timeline);
  EXPECT_NE(timeline.median_makespan, timeline.planned.makespan);
  EXPECT_EQ(round.timeline->span_ms, timeline.median_makespan);
  EXPECT_EQ(round.timeline->simulated_span_ms, timeline.planned.makespan);
}

TEST_F(RunBench, AStepOfReplicasTakesAsLongAsInTheSlowestOfThem) {
  for (const int replica : {0, 1}) {
    SyntheticRun run = synthetic_candidate({});
    run.manifest["mesh"] = {{"axes", {{"dp", 2}, {"pp", 2}}},
                            {"pipeline", "pp"},
                            {"replicas", Json::array({{0, 1}, {2, 3}})},
                            {"replica", replica}};
    for (auto& row : run.ranks.back().steps) row.seconds = replica == 1 ? 0.75 : 0.25;
    write_run(run, folder_ / "both" / ("replica-" + std::to_string(replica)));
  }

  const BenchRound round = measure_round(folder_ / "both");

  EXPECT_THAT(round.steps_ms, ::testing::Each(750));
  EXPECT_TRUE(round.timeline);
  EXPECT_EQ(round.tokens, measure_round(folder_ / "both" / "replica-0").tokens) << "each names those of the step";
}

TEST_F(RunBench, ASecondReferenceThatIsSlowerMakesTheMachineNotQuiet) {
  record("of-second", synthetic_reference({}), 1.2);

  const BenchResult result = run().result;

  EXPECT_DOUBLE_EQ(result.noise, 0.25);
  EXPECT_FALSE(result.quiet());
}

TEST_F(RunBench, ACellThatDoesNotEndWellIsToldAndNotRunAgain) {
  folder_.file("behaviour",
               "case $(basename $record)-$me in *afab*-0) ended \"$record\" $me failed 1; exit 1 ;; esac\n");

  const BenchResult result = run().result;

  EXPECT_THAT(result.failed, ElementsAre(HasSubstr("a-afab-w2: ")));
  ASSERT_THAT(result.cells, SizeIs(1));
  EXPECT_EQ(result.cells[0].id, "a-1f1b-w2");
  EXPECT_EQ(std::ranges::count(calls(), "a-afab-w2"), 1);
}

TEST_F(RunBench, AReferenceThatDoesNotEndWellEndsTheBenchAndARefusedRunFileIsBadInput) {
  folder_.file("behaviour", "case $(basename $0) in plumbline-reference) exit 1 ;; esac\n");
  EXPECT_THAT(error_of<RunError>([&] { run(); }), HasSubstr("reference-a failed"));
  folder_.file("behaviour", "case $(basename $0) in plumbline-reference) exit 2 ;; esac\n");
  options_.sweep.out = folder_ / "again";
  EXPECT_THAT(error_of<InputError>([&] { run(); }), HasSubstr("reference-a failed"));
}

TEST_F(RunBench, EndsWhenItIsAskedTo) {
  folder_.file("behaviour", "case $(basename $record) in *1f1b*) kill -INT " + std::to_string(getpid()) + " ;; esac\n");

  EXPECT_THAT(error_of<SystemError>([&] { run(); }), HasSubstr("stopped by SIGINT"));
}

TEST_F(RunBench, SweepsThatCompareValuesOrStartCommandsAreRefused) {
  const std::string plain = bytes_of(options_.sweep.sweep_file);
  std::ofstream(options_.sweep.sweep_file) << plain << "tier = \"calibrated\"\n";
  EXPECT_THAT(error_of<InputError>([&] { run(); }), HasSubstr("key tier: a bench compares no values"));
  std::ofstream(options_.sweep.sweep_file)
      << "world_sizes = [2]\nreference = [\"sh\", \"{record}\"]\ncandidate = [\"sh\", \"{record}\"]\n";
  EXPECT_THAT(error_of<InputError>([&] { run(); }), HasSubstr("starts commands of your own"));
  EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(RunBench, ARecordThatSaysNoCoresIsRefused) {
  Json manifest = read_json(folder_ / "of-reference/manifest.json");
  manifest["machine"].erase("cores");
  write_json(folder_ / "of-reference/manifest.json", manifest);

  EXPECT_THAT(error_of<InputError>([&] { run(); }), HasSubstr("lacks the number of cores"));
}

TEST_F(RunBench, OneRoundIsRefused) {
  options_.rounds = 1;

  EXPECT_THAT(error_of<InputError>([&] { run(); }), HasSubstr("--rounds 1"));
  EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(RunBench, ARunWithoutATimedStepIsRefused) {
  record("of-reference", synthetic_reference({}), 0);

  EXPECT_THAT(error_of<InputError>([&] { run(); }), HasSubstr("has only the first step"));
}

}  // namespace
}  // namespace plumbline::testing
