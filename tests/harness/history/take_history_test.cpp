#include "harness/history/take_history.hpp"

#include <gmock/gmock.h>

#include "harness/baseline/run_identity.hpp"
#include "record/verdict.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/harness/bench/bench_results.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TakeHistory : public ::testing::Test {
 protected:
  TakeHistory() {
    verdict_.holds = true;
    verdict_.name = "synthetic";
    verdict_.started = "2026-11-22T00:00:00Z";
    verdict_.machine = {{"device", "cpu"},
                        {"machine", {{"cpu_model", "Some Processor"}, {"cores", 2}, {"aten_capability", "AVX512"}}},
                        {"versions", {{"libtorch", "2.11.0"}, {"commit", "abc"}}}};
    ReferenceVerdict reference;
    reference.id = "r";
    reference.finished = true;
    verdict_.references.push_back(reference);
    CellVerdict cell = cell_.judge();
    cell.id = "c";
    cell.reference = "r";
    cell.holds = true;
    verdict_.cells.push_back(cell);
  }
  void write() {
    fs::remove_all(folder_.path());
    make_folder(folder_ / "references");
    make_folder(folder_ / "cells");
    write_run(cell_.reference, folder_ / "references" / "r");
    write_run(cell_.candidate, folder_ / "cells" / "c");
    write_verdict(folder_ / "verdict.json", verdict_);
  }
  TakenHistory take() {
    write();
    return take_history(folder_.path());
  }
  static void last_seconds(SyntheticRun& run, double seconds) {
    for (auto& rank : run.ranks)
      for (auto& row : rank.steps)
        if (row.step > 0) row.seconds = seconds;
  }

  /// Of each rank the largest of its steps, of all ranks the sum.
  std::int64_t bytes_of_ranks(std::optional<std::int64_t> MemoryRow::*column) const {
    std::int64_t sum = 0;
    for (const auto& rank : cell_.candidate.ranks) {
      std::int64_t most = 0;
      for (const auto& row : rank.memory) most = std::max(most, (row.*column).value_or(0));
      sum += most;
    }
    return sum;
  }

  SyntheticCell cell_;
  Verdict verdict_;
  TemporaryFolder folder_;
};

TEST_F(TakeHistory, HoldsVerdictBitsBytesAndSpeedOfEachRun) {
  last_seconds(cell_.reference, 0.75);
  last_seconds(cell_.candidate, 0.5);

  const TakenHistory taken = take();

  ASSERT_THAT(taken.rows, SizeIs(2));
  EXPECT_THAT(taken.missing, IsEmpty());
  EXPECT_EQ(taken.rows[0].run, "r");
  EXPECT_EQ(taken.rows[0].verdict, "finished");
  EXPECT_FALSE(taken.rows[0].speed);
  const HistoryRow& cell = taken.rows[1];
  EXPECT_EQ(cell.verdict, "holds");
  EXPECT_EQ(cell.commit, "abc");
  EXPECT_EQ(cell.machine_name, "Some Processor, 2 cores");
  EXPECT_EQ(cell.bits, taken.rows[0].bits) << "the same parameters at the end";
  EXPECT_FALSE(cell.bits.empty());
  EXPECT_GT(cell.sent_bytes.value_or(0), 0);
  EXPECT_EQ(cell.activation_bytes, bytes_of_ranks(&MemoryRow::activation_peak_bytes));
  EXPECT_EQ(cell.state_bytes, bytes_of_ranks(&MemoryRow::parameter_bytes) + bytes_of_ranks(&MemoryRow::gradient_bytes) +
                                  bytes_of_ranks(&MemoryRow::optimizer_bytes));
  ASSERT_TRUE(cell.speed);
  EXPECT_DOUBLE_EQ(cell.speed->value, 1.5);
}

TEST_F(TakeHistory, AStepTakesAsLongAsOnItsSlowestRank) {
  last_seconds(cell_.reference, 0.75);
  last_seconds(cell_.candidate, 0.25);
  for (auto& row : cell_.candidate.ranks.front().steps) row.seconds = 0.5;

  EXPECT_DOUBLE_EQ(take().rows[1].speed.value().value, 1.5);
}

TEST_F(TakeHistory, WithAStepOfNoTimeThereIsNoSpeed) {
  last_seconds(cell_.reference, 0.75);
  last_seconds(cell_.candidate, 0);

  EXPECT_FALSE(take().rows[1].speed);
}

TEST_F(TakeHistory, AReferenceThatFailsACheckDoesNotHold) {
  CheckResult check;
  check.name = "data";
  check.outcome = Outcome::fails;
  verdict_.references[0].checks = {check};

  EXPECT_EQ(take().rows[0].verdict, "does not hold");
}

TEST_F(TakeHistory, ASweepThatSaysNoTimeIsRefused) {
  verdict_.started.clear();
  EXPECT_THAT(error_of<InputError>([&] { take(); }), HasSubstr("says no time at which it began"));
}

TEST_F(TakeHistory, ASweepWithABenchBesideItIsTheSweep) {
  write();
  write_json(folder_ / "bench.json", to_json(bench_result()));

  EXPECT_EQ(take_history(folder_.path()).rows.at(0).source, "sweep");
}

TEST_F(TakeHistory, OneParameterOfTheLastStepGivesOtherBits) {
  const std::string before = take().rows[1].bits;
  tensor_row(cell_.candidate, synthetic_steps - 1, "parameter", "model.norm.weight").digest = other_digest;

  EXPECT_NE(take().rows[1].bits, before);
}

TEST_F(TakeHistory, ASweepThatDoesNotHoldHasItsPlace) {
  verdict_.holds = false;
  verdict_.cells[0].holds = false;

  EXPECT_EQ(take().rows[1].verdict, "does not hold");
}

TEST_F(TakeHistory, ARecordThatCannotBeReadLeavesItsNumbersEmptyAndIsTold) {
  write();
  folder_.file("cells/c/rank-1/steps.csv", "step\nbroken");

  const TakenHistory taken = take_history(folder_.path());

  EXPECT_THAT(taken.missing, ElementsAre(HasSubstr("c: ")));
  EXPECT_EQ(taken.rows[1].bits, "");
  EXPECT_FALSE(taken.rows[1].sent_bytes);
  EXPECT_EQ(taken.rows[1].verdict, "holds") << "as the verdict says";
}

TEST_F(TakeHistory, AMachineIsKnownByWhatTimesDependOn) {
  const TakenHistory before = take();
  verdict_.machine["versions"]["libtorch"] = "2.12.0";
  const TakenHistory other_library = take();
  verdict_.machine["machine"]["cores"] = 4;
  const TakenHistory other_machine = take();

  EXPECT_EQ(other_library.rows[0].machine, before.rows[0].machine);
  EXPECT_NE(other_library.rows[0].code_path, before.rows[0].code_path);
  EXPECT_NE(other_machine.rows[0].machine, before.rows[0].machine);
}

TEST_F(TakeHistory, OfABenchEachCellHasItsSpeedWithItsInterval) {
  write_json(folder_ / "bench.json", to_json(bench_result()));

  const TakenHistory taken = take_history(folder_.path());

  ASSERT_THAT(taken.rows, SizeIs(3));
  EXPECT_EQ(taken.rows[1].source, "bench");
  EXPECT_EQ(taken.rows[1].run, "tiny-1f1b-w2");
  ASSERT_TRUE(taken.rows[1].speed);
  EXPECT_DOUBLE_EQ(taken.rows[1].speed->value, 1.65);
  EXPECT_DOUBLE_EQ(taken.rows[1].speed->low.value(), 0.99 * 1.65);
  EXPECT_DOUBLE_EQ(taken.rows[1].speed->high.value(), 1.01 * 1.65);
  EXPECT_EQ(taken.rows[1].speed->rounds, 6);
  EXPECT_EQ(taken.rows[1].asked, asked_digest(bench_result().cells[1].request));
  EXPECT_THAT(taken.missing, IsEmpty());
}

TEST_F(TakeHistory, OfABenchOnAMachineThatWasNotQuietNoSpeedIsKept) {
  BenchResult loud = bench_result();
  loud.noise = 0.4;
  write_json(folder_ / "bench.json", to_json(loud));

  const TakenHistory taken = take_history(folder_.path());

  EXPECT_THAT(taken.missing, ElementsAre(HasSubstr("was not quiet")));
  EXPECT_FALSE(taken.rows[1].speed);
}

TEST_F(TakeHistory, AFolderWithoutASweepIsRefused) {
  TemporaryFolder empty;
  EXPECT_THAT(error_of<InputError>([&] { take_history(empty.path()); }), HasSubstr("verdict.json"));
  folder_.file("verdict.json", "{");
  EXPECT_THROW(take_history(folder_.path()), InputError);
}

}  // namespace
}  // namespace plumbline::testing
