#include "harness/baseline/compare_speeds.hpp"

#include <gmock/gmock.h>

#include "harness/baseline/run_identity.hpp"
#include "support/error.hpp"
#include "tests/harness/bench/bench_results.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// What is kept of the result, as it is read back.
Speeds speeds_of(const BenchResult& result) {
  TemporaryFolder folder;
  write_json(folder / "bench.json", to_json(result));
  return take_speeds(folder.path());
}

BaselineComparison compared(const BenchResult& before, const BenchResult& now) {
  BaselineComparison comparison;
  compare_speeds(speeds_of(before), speeds_of(now), comparison);
  return comparison;
}

BenchResult slower(double factor) {
  BenchResult result = bench_result();
  for (double* value : {&result.cells[1].speed.median, &result.cells[1].speed.low, &result.cells[1].speed.high})
    *value *= factor;
  return result;
}

TEST(CompareSpeeds, EqualOnesAreComparedAndHold) {
  const BaselineComparison found = compared(bench_result(), bench_result());

  EXPECT_THAT(found.changes, IsEmpty());
  EXPECT_THAT(found.not_compared, IsEmpty());
  EXPECT_EQ(found.speeds, 3);
}

TEST(CompareSpeeds, AChangeBeyondIntervalsAndNoiseIsToldWithWhatTheScheduleAllows) {
  const BaselineComparison found = compared(bench_result(), slower(0.9));

  ASSERT_THAT(found.changes, SizeIs(1));
  EXPECT_EQ(found.changes[0].kind, ChangeKind::speed);
  EXPECT_EQ(found.changes[0].where, "tiny-1f1b-w2");
  EXPECT_EQ(
      found.changes[0].words,
      "tokens/s over the reference's 1.650 [1.633, 1.666] before, 1.485 [1.470, 1.500] now (-10.0 %, noise 2.0 %); "
      "93 % of the 1.780 that its schedule allows by simulation before, 83 % of the 1.780 that its schedule allows by "
      "simulation now");
}

TEST(CompareSpeeds, WithoutASimulationOfBothNothingIsSaidOfIt) {
  BenchResult now = slower(0.9);
  now.cells[1].simulated_speed.reset();

  for (const auto& found : {compared(bench_result(), now), compared(now, slower(0.5))}) {
    ASSERT_THAT(found.changes, SizeIs(1));
    EXPECT_THAT(found.changes[0].words, ::testing::EndsWith("noise 2.0 %)"));
  }
}

TEST(CompareSpeeds, OfWhichNobodySaidWhatWasAskedAreNotCompared) {
  BenchResult before = bench_result(), now = slower(0.5);
  before.cells[1].request = now.cells[1].request = nullptr;

  const BaselineComparison found = compared(before, now);

  EXPECT_THAT(found.changes, IsEmpty());
  EXPECT_THAT(found.not_compared, ElementsAre(HasSubstr("speed of tiny-1f1b-w2: another run was asked for")));
}

TEST(CompareSpeeds, WithinTheNoiseOrWithIntervalsThatMeetThereIsNoChange) {
  EXPECT_THAT(compared(bench_result(), slower(0.985)).changes, IsEmpty()) << "the intervals meet";

  BenchResult noisy = slower(0.96);
  EXPECT_THAT(compared(bench_result(), noisy).changes, SizeIs(1));
  noisy.noise = 0.045;
  EXPECT_THAT(compared(bench_result(), noisy).changes, IsEmpty()) << "4 % of 4.5 % noise";
}

// However far apart the medians are: intervals that meet may be of one speed.
TEST(CompareSpeeds, IntervalsThatTouchAreOfNoChange) {
  const MedianInterval before = bench_result().cells[1].speed;
  BenchResult slow = slower(0.9), fast = slower(1.1);
  slow.cells[1].speed.high = before.low;
  fast.cells[1].speed.low = before.high;

  EXPECT_THAT(compared(bench_result(), slow).changes, IsEmpty());
  EXPECT_THAT(compared(bench_result(), fast).changes, IsEmpty());
  slow.cells[1].speed.high = before.low - 0.001;
  fast.cells[1].speed.low = before.high + 0.001;
  EXPECT_THAT(compared(bench_result(), slow).changes, SizeIs(1));
  EXPECT_THAT(compared(bench_result(), fast).changes, SizeIs(1));
}

TEST(CompareSpeeds, AFasterOneIsAChangeToo) {
  EXPECT_THAT(compared(bench_result(), slower(1.1)).changes, SizeIs(1));
}

TEST(CompareSpeeds, AnotherMachineIsNeverCompared) {
  BenchResult elsewhere = slower(0.5);
  elsewhere.machine["machine"]["cores"] = 4;

  const BaselineComparison found = compared(bench_result(), elsewhere);

  EXPECT_THAT(found.changes, IsEmpty());
  EXPECT_EQ(found.speeds, 0);
  EXPECT_THAT(found.not_compared,
              ElementsAre(HasSubstr("another machine (Some Processor, 2 cores before, Some Processor, 4 cores now)")));
}

TEST(CompareSpeeds, AMachineThatWasNotQuietIsNotCompared) {
  BenchResult loud = slower(0.5);
  loud.noise = 0.3;

  EXPECT_THAT(compared(bench_result(), loud).not_compared, ElementsAre(HasSubstr("not quiet during the new bench")));
  EXPECT_THAT(compared(loud, bench_result()).not_compared, ElementsAre(HasSubstr("the baseline's bench")));
}

TEST(CompareSpeeds, AnotherRequestOrAMissingCellIsNotCompared) {
  BenchResult other = slower(0.5);
  other.cells[1].request["seed"] = 2;
  other.cells.erase(other.cells.begin());

  const BaselineComparison found = compared(bench_result(), other);

  EXPECT_THAT(found.changes, IsEmpty());
  EXPECT_THAT(found.not_compared, ElementsAre(HasSubstr("speed of tiny-1f1b-w1: is not in the new bench"),
                                              HasSubstr("speed of tiny-1f1b-w2: another run was asked for")));
}

TEST(CompareSpeeds, WhereOnlyOneSideHasThemThatIsSaid) {
  BaselineComparison found;
  compare_speeds(speeds_of(bench_result()), std::nullopt, found);
  compare_speeds(std::nullopt, speeds_of(bench_result()), found);
  compare_speeds(std::nullopt, std::nullopt, found);

  EXPECT_THAT(found.not_compared, ElementsAre(HasSubstr("no bench was given"), HasSubstr("the baseline holds none")));
}

TEST(CompareSpeeds, ReadBackAsTheyWereWrittenAndDamageIsRefused) {
  const Speeds speeds = speeds_of(bench_result());
  const Json json = to_json(speeds);
  EXPECT_EQ(to_json(read_speeds(JsonKeys("b.json", json))).dump(), json.dump());

  for (const bool quiet : {true, false}) {
    BenchResult result = bench_result();
    result.noise = quiet ? 0.02 : 0.5;
    result.cells[0].speed = {0.98, 0.75, 1.25};
    result.cells[0].simulated_speed = 0.5;
    result.cells[1].simulated_speed.reset();
    const Speeds read = read_speeds(JsonKeys("b.json", to_json(speeds_of(result))));
    EXPECT_EQ(read.bench, result.name);
    EXPECT_EQ(read.taken, result.started);
    EXPECT_EQ(read.machine, machine_fingerprint(result.machine));
    EXPECT_EQ(read.machine_name, "Some Processor, 2 cores");
    EXPECT_EQ(read.noise, result.noise);
    EXPECT_EQ(read.quiet, quiet);
    ASSERT_EQ(read.cells.size(), 3U);
    const CellSpeed& cell = read.cells.at("tiny-1f1b-w1");
    EXPECT_EQ(cell.asked, asked_digest(result.cells[0].request));
    EXPECT_EQ(cell.ratio.median, 0.98);
    EXPECT_EQ(cell.ratio.low, 0.75);
    EXPECT_EQ(cell.ratio.high, 1.25);
    EXPECT_EQ(cell.simulated, 0.5);
    EXPECT_EQ(read.cells.at("tiny-1f1b-w2").simulated, std::nullopt);
  }

  for (const auto& [key, value] : {std::pair<const char*, double>("low", 0), {"high", 0.5}, {"ratio", 100}}) {
    Json none = json;
    none["cells"][0][key] = value;
    EXPECT_THAT(error_of<InputError>([&] { read_speeds(JsonKeys("b.json", none)); }), HasSubstr("ratio")) << key;
  }
  Json damaged = json;
  damaged["cells"][0]["low"] = 9;
  EXPECT_THAT(error_of<InputError>([&] { read_speeds(JsonKeys("b.json", damaged)); }), HasSubstr("ratio"));
  TemporaryFolder empty;
  EXPECT_THAT(error_of<InputError>([&] { take_speeds(empty.path()); }), HasSubstr("bench.json"));
}

}  // namespace
}  // namespace plumbline::testing
