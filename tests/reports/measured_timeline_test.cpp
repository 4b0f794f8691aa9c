// SPDX-License-Identifier: BSD-3-Clause
#include "reports/measured_timeline.hpp"

#include <gmock/gmock.h>

#include "schedule/closed_forms.hpp"
#include "schedule/schedule_csv.hpp"
#include "schedule/simulator.hpp"
#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two ranks, two microbatches of 1F1B. In ms: forwards 1, backwards 2, messages 0.5.
class MeasuredTimelineTest : public ::testing::Test {
 protected:
  MeasuredTimelineTest() {
    const std::string csv = to_csv(make_schedule("1f1b", 2, 2));
    record_.path = folder_.path();
    folder_.file("schedule.csv", csv);
    record_.schedule_csv = csv;
    record_.manifest.schedule_name = "1f1b";
    record_.manifest.steps = 3;
    record_.ranks.resize(2);
    record_.ranks[1].rank = 1;
    for (std::int64_t step = 0; step < 3; ++step) {
      const double slow = step == 0 ? 10 : 1;  // caches are cold
      const double last = step == 2 ? 2 : 0;   // something delayed the last step
      add(0, step, "0F0", slow * 0, slow * 1);
      add(0, step, "0SEND_F0", slow * 1, slow * 1.5);
      add(0, step, "0F1", slow * 1, slow * 2);
      add(0, step, "0B0", slow * 2, slow * 7, slow * 3);
      add(0, step, "0B1", slow * 7, slow * 10.5 + last, slow * 1.5);
      add(0, step, "0STEP", slow * 10.5 + last, slow * 50);
      add(1, step, "1F0", slow * 0, slow * 2.5, slow * 1.5);
      add(1, step, "1B0", slow * 2.5, slow * 4.5);
      add(1, step, "1F1", slow * 4.5, slow * 5.5);
      add(1, step, "1B1", slow * 5.5, slow * 7.5);
      lengths(step, {64, 64});
    }
  }

  void add(std::size_t rank, std::int64_t step, const std::string& action, double start_ms, double end_ms,
           double wait_ms = 0) {
    const double origin_ms = 1000 * static_cast<double>(step) + 7;
    const auto ns = [](double ms) { return static_cast<std::int64_t>(ms * 1e6); };
    record_.ranks[rank].actions.push_back(
        {step, 0, action, 0, {}, ns(origin_ms + start_ms), ns(origin_ms + end_ms), ns(wait_ms), {}});
  }
  void lengths(std::int64_t step, const std::vector<std::int64_t>& all) {
    for (std::size_t i = 0; i < all.size(); ++i)
      record_.ranks[0].microbatches.push_back({step, static_cast<std::int64_t>(i), all[i], 0, 0, 0, {}, ""});
  }

  testing::TemporaryFolder folder_;
  Record record_;
};

TEST_F(MeasuredTimelineTest, ComparesTheStepOfMedianTimeWithItsPlan) {
  const MeasuredTimeline timeline = measure_timeline(record_);

  EXPECT_EQ(timeline.step, 1);
  EXPECT_EQ(timeline.steps_timed, 2) << "the first step is not timed";
  EXPECT_DOUBLE_EQ(timeline.measured.makespan, 10.5);
  EXPECT_DOUBLE_EQ(timeline.measured.bubble_rate, 4.5 / 10.5) << "rank 0 computes 6 ms of 10.5";
  EXPECT_DOUBLE_EQ(timeline.median_makespan, 11.5);
  EXPECT_DOUBLE_EQ(timeline.planned.makespan, 9) << "messages take no time";
  EXPECT_DOUBLE_EQ(timeline.planned.bubble_rate, 3.0 / 9);
  EXPECT_DOUBLE_EQ(timeline.closed_form_rate.value(), 3.0 / 9);
  EXPECT_THAT(timeline.measured.peak_slots, ElementsAre(2, 1));
}

TEST_F(MeasuredTimelineTest, IsDrawnOnOneScale) {
  const MeasuredTimeline timeline = measure_timeline(record_);

  const std::string svg = draw_svg(timelines_of(timeline), 1050);

  // 100 pixels a ms from 60 on; measured rows at 25 and 51, planned ones at 105 and 131.
  const auto bar = [](int x, int y, int width, const std::string& fill, const std::string& action) {
    return "<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" width=\"" + std::to_string(width) +
           "\" height=\"20\" fill=\"" + fill + "\"><title>" + action + "</title>";
  };
  EXPECT_THAT(svg, HasSubstr(">measured, step 1</text>"));
  EXPECT_THAT(svg, HasSubstr(bar(60, 25, 100, "#7aa6da", "0F0")));
  EXPECT_THAT(svg, HasSubstr(bar(910, 25, 200, "#8fbf8f", "0B1")));
  EXPECT_THAT(svg, HasSubstr(bar(210, 51, 100, "#7aa6da", "1F0")));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"260\" y=\"33\" width=\"300\" height=\"4\" fill=\"#949494\"/>")) << "0B0 waits";
  EXPECT_THAT(svg, HasSubstr("<rect x=\"160\" y=\"46\" width=\"50\" height=\"2\" fill=\"#444444\"/>")) << "0SEND_F0";
  EXPECT_THAT(svg, HasSubstr(bar(760, 105, 200, "#8fbf8f", "0B1")));
  EXPECT_THAT(svg, HasSubstr(bar(160, 131, 100, "#7aa6da", "1F0")));
}

TEST_F(MeasuredTimelineTest, AnotherStepCanBeRequested) {
  EXPECT_DOUBLE_EQ(measure_timeline(record_, 0).measured.makespan, 105);
  EXPECT_DOUBLE_EQ(measure_timeline(record_, 2).measured.makespan, 12.5);
  EXPECT_THAT(testing::error_of<InputError>([&] { measure_timeline(record_, 3); }), HasSubstr("steps 0 to 2, not 3"));
}

TEST_F(MeasuredTimelineTest, ARunOfOneStepUsesThatStep) {
  record_.manifest.steps = 1;

  const MeasuredTimeline timeline = measure_timeline(record_);

  EXPECT_EQ(timeline.step, 0);
  EXPECT_EQ(timeline.steps_timed, 1);
  EXPECT_DOUBLE_EQ(timeline.planned.makespan, 90);
}

TEST_F(MeasuredTimelineTest, EachLengthHasItsOwnMedian) {
  for (RankRecord& rank : record_.ranks) rank.microbatches.clear();
  for (std::int64_t step = 0; step < 3; ++step) lengths(step, {64, 32});
  for (ActionRow& row : record_.ranks[0].actions) {  // now 0F1 takes half as long as 0F0
    if (row.action == "0F1") row.end_ns -= (row.end_ns - row.start_ns) / 2;
  }

  const MeasuredTimeline timeline = measure_timeline(record_);

  EXPECT_TRUE(timeline.lengths_differ);
  EXPECT_DOUBLE_EQ(timeline.planned.actions[0][0].end, 1);
  EXPECT_DOUBLE_EQ(timeline.planned.actions[0][1].end, 1.5);
  EXPECT_FALSE(timeline.closed_form_rate.has_value());
  for (std::int64_t step = 0; step < 3; ++step) lengths(step, {64, 32, 64});
  EXPECT_TRUE(measure_timeline(record_).lengths_differ) << "one length differs from the others";
}

TEST_F(MeasuredTimelineTest, ShowsTheMedianOfThreeSteps) {
  record_.manifest.steps = 4;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    for (const ActionRow& row : std::vector(record_.ranks[rank].actions)) {
      if (row.step != 2) continue;
      ActionRow later = row;  // 12.5 ms long, now 11.5
      later.step = 3;
      if (later.action == "0B1") later.end_ns -= 1'000'000;
      record_.ranks[rank].actions.push_back(later);
    }
  }

  const MeasuredTimeline timeline = measure_timeline(record_);

  EXPECT_EQ(timeline.step, 3) << "10.5, 12.5 and 11.5 ms";
  EXPECT_DOUBLE_EQ(timeline.median_makespan, 11.5);
}

TEST_F(MeasuredTimelineTest, EachHalfOfASplitBackwardHasItsOwnTime) {
  const Schedule schedule = make_schedule("zb-h1", 2, 4);
  const StageTimes times{1, 2, 0.5};
  const Simulation made = simulate(schedule, {{times}, {}});
  record_.schedule_csv = to_csv(schedule);
  folder_.file("schedule.csv", *record_.schedule_csv);
  record_.manifest.schedule_name = "zb-h1";
  for (std::size_t rank = 0; rank < 2; ++rank) {
    record_.ranks[rank].actions.clear();
    for (std::int64_t step = 0; step < 3; ++step)
      for (std::size_t i = 0; i < schedule.ranks[rank].size(); ++i)
        add(rank, step, to_text(schedule.ranks[rank][i]), made.actions[rank][i].start, made.actions[rank][i].end);
  }

  const MeasuredTimeline timeline = measure_timeline(record_);

  EXPECT_NEAR(timeline.planned.makespan, made.makespan, 1e-6);
  const double bubble = closed_form_bubble("zb-h1", 2, 4, times).value();
  EXPECT_NEAR(timeline.closed_form_rate.value(), bubble / (4 * (1 + 2 + 0.5) + bubble), 1e-6);
}

TEST_F(MeasuredTimelineTest, RefusesActionsThatAreNotTheSchedules) {
  Record other = record_;
  std::swap(other.ranks[1].actions[4].action, other.ranks[1].actions[5].action);
  EXPECT_THAT(testing::error_of<InputError>([&] { measure_timeline(other); }),
              HasSubstr("rank-1/actions.csv: step 1: its actions are not those of schedule.csv"));

  other = record_;
  other.ranks[0].actions[7].action = "0X0";
  EXPECT_THAT(testing::error_of<InputError>([&] { measure_timeline(other); }), HasSubstr("'0X0' is not an action"));

  other = record_;
  other.ranks.pop_back();
  EXPECT_THAT(testing::error_of<InputError>([&] { measure_timeline(other); }), HasSubstr("1 rank"));

  other = record_;
  other.schedule_csv.reset();
  EXPECT_THAT(testing::error_of<InputError>([&] { measure_timeline(other); }), HasSubstr("has no schedule.csv"));
}

TEST_F(MeasuredTimelineTest, AWaitLongerThanItsActionDrawsNothingBackwards) {
  for (RankRecord& rank : record_.ranks) {
    for (ActionRow& row : rank.actions) row.wait_ns = std::int64_t{1} << 40;
  }

  const MeasuredTimeline timeline = measure_timeline(record_);

  for (const auto& rank : timeline.measured.actions) {
    for (const ActionTime& time : rank) EXPECT_LE(time.start, time.end);
  }
}

}  // namespace
}  // namespace plumbline
