#include "harness/history/series.hpp"

#include <gmock/gmock.h>

#include "tests/harness/history/rows.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<HistoryChange> changes_in(const std::vector<HistoryRow>& rows) {
  return changes_of(series_of(rows));
}

TEST(HistorySeries, AStepOfSpeedIsDatedAndNamedByTheCommitsOnEitherSide) {
  const auto changes = changes_in(slower_after(20, 10));

  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].kind, HistoryChangeKind::speed);
  EXPECT_EQ(changes[0].taken, history_row_of(20).taken);
  EXPECT_EQ(changes[0].commit_before, "c00019");
  EXPECT_EQ(changes[0].commit_now, "c00020");
  EXPECT_THAT(changes[0].words, HasSubstr("1.600 before, 1.438 now"));
  EXPECT_THAT(changes[0].words, HasSubstr("(-10.1 %)"));
}

TEST(HistorySeries, ASeriesWithoutChangesHasNone) {
  EXPECT_THAT(changes_in(slower_after(30, 0)), IsEmpty());
}

TEST(HistorySeries, SpeedsOfTwoMachinesAreNeverCompared) {
  auto rows = slower_after(20, 10);
  for (std::size_t i = 20; i < rows.size(); ++i) rows[i].machine = "eeeeeeeeeeee";

  EXPECT_THAT(series_of(rows), SizeIs(2));
  EXPECT_THAT(changes_in(rows), IsEmpty());
}

TEST(HistorySeries, AnotherRequestBeginsAnotherSeries) {
  auto rows = slower_after(20, 10);
  for (std::size_t i = 20; i < rows.size(); ++i) rows[i].asked = "ffff";

  EXPECT_THAT(changes_in(rows), IsEmpty());
}

TEST(HistorySeries, OtherBitsAreAChangeOnTheSameCodePathOnly) {
  std::vector<HistoryRow> rows = {history_row_of(0), history_row_of(1), history_row_of(2), history_row_of(3)};
  rows[1].code_path = "other";
  rows[1].bits = "1111";
  rows[2].bits = "2222";
  rows[3].bits = "2222";

  const auto changes = changes_in(rows);

  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].kind, HistoryChangeKind::bits);
  EXPECT_EQ(changes[0].commit_before, "c00000") << "the last on this code path";
  EXPECT_EQ(changes[0].commit_now, "c00002");
}

TEST(HistorySeries, OneByteMoreIsAChangeWithBothNumbers) {
  std::vector<HistoryRow> rows = {history_row_of(0), history_row_of(1)};
  rows[1].activation_bytes = 2001;

  const auto changes = changes_in(rows);

  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].kind, HistoryChangeKind::bytes);
  EXPECT_EQ(changes[0].words, "peak activations 2,000 bytes before, 2,001 now (+1)");

  rows[1] = history_row_of(1);
  rows[1].state_bytes = 2999;
  rows[1].sent_bytes = 1100;
  EXPECT_EQ(changes_in(rows).at(0).words,
            "parameters, gradients and optimiser state 3,000 bytes before, 2,999 now (-1); "
            "sent 1,000 bytes before, 1,100 now (+100)");
}

TEST(HistorySeries, SweepsAndBenchesOfOneNameAreSeriesOfTheirOwn) {
  auto rows = slower_after(20, 10);
  for (std::size_t i = 20; i < rows.size(); ++i) rows[i].source = "bench";
  EXPECT_THAT(changes_in(rows), IsEmpty());

  rows = slower_after(20, 10);
  for (std::size_t i = 20; i < rows.size(); ++i) rows[i].sweep = "default";
  EXPECT_THAT(changes_in(rows), IsEmpty());
}

TEST(HistorySeries, ARowWithoutASpeedIsNoPointInTime) {
  auto rows = slower_after(20, 10);
  rows[3].speed.reset();
  const auto series = series_of(rows);
  ASSERT_THAT(series, SizeIs(1));
  EXPECT_THAT(series[0].rows, SizeIs(30));
  EXPECT_THAT(series[0].timed, SizeIs(29));
}

TEST(HistorySeries, TheSpeedOfEachRunIsToldByItself) {
  std::vector<HistoryRow> rows;
  for (const HistoryRow& row : slower_after(20, 10)) {
    for (const char* run : {"a", "b"}) {
      rows.push_back(row);
      rows.back().run = run;
    }
  }
  const auto changes = changes_in(rows);
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_THAT(changes[0].runs, SizeIs(1));
  EXPECT_THAT(changes[1].runs, SizeIs(1));
}

TEST(HistorySeries, ADriftSaysSinceWhen) {
  std::vector<HistoryRow> rows;
  for (int day = 0; day < 60; ++day) rows.push_back(history_row_of(day, (1.6 - 0.01 * day) * hair(day)));
  const auto changes = changes_in(rows);
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_THAT(changes[0].words, HasSubstr("little by little since 2026-01-01T10:00:00Z (commit c00000)"));
}

TEST(HistorySeries, AVerdictThatChangesIsToldTogetherForAllItsRunsAndNewestFirst) {
  std::vector<HistoryRow> rows;
  for (int day = 0; day < 3; ++day) {
    for (const char* run : {"a", "b", "c"}) {
      rows.push_back(history_row_of(day));
      rows.back().run = run;
      if (day == 1) rows.back().verdict = "does not hold";
    }
  }

  const auto changes = changes_in(rows);

  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_EQ(changes[0].words, "does not hold before, holds now");
  EXPECT_EQ(changes[1].words, "holds before, does not hold now");
  EXPECT_THAT(changes[1].runs, ElementsAre("a", "b", "c"));
}

}  // namespace
}  // namespace plumbline::testing
