#include <gmock/gmock.h>

#include <algorithm>

#include "reports/page.hpp"
#include "tests/reports/sample_sweep.hpp"
#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// What a run without any delay would leave behind.
MeasuredTimeline timeline_of(const std::string& schedule, std::int32_t world) {
  MeasuredTimeline timeline;
  timeline.step = 3;
  timeline.steps_timed = 4;
  timeline.schedule = timeline.executed = make_schedule(schedule, world, 8);
  timeline.measured = timeline.planned = simulate(timeline.schedule, {{{1, 1, 1}}, {}});
  timeline.median_makespan = timeline.planned.makespan;
  timeline.median_bubble_rate = 0.125;
  for (const ActionList& list : timeline.executed.ranks) timeline.waits.emplace_back(list.size(), 0.0);
  return timeline;
}

std::string page_of(std::int64_t worlds, std::int64_t cores, bool largest_first = false) {
  Verdict verdict = testing::sample_verdict(worlds);
  if (largest_first) std::ranges::reverse(verdict.cells);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  for (const CellVerdict& cell : verdict.cells) {
    RunSummary& run = evidence.cells.at(cell.id);
    run.manifest.json["machine"]["cores"] = cores;
    run.timeline = timeline_of(cell.schedule, static_cast<std::int32_t>(cell.world));
  }
  return make_page(verdict, evidence);
}

TEST(PageTimelines, EachScheduleAtItsLargestWorldSizeThatFitsTheCores) {
  const std::string page = page_of(5, 3);

  EXPECT_THAT(page, HasSubstr("has a core a rank for (3 cores)"));
  EXPECT_THAT(page, HasSubstr("<summary>afab, P = 3: drawn</summary><figure><svg "));
  EXPECT_THAT(page, HasSubstr("<summary>1f1b, P = 3: drawn</summary><figure><svg "));
  EXPECT_THAT(page, HasSubstr("<td>afab</td><td>stories260k-adamw-afab-w3</td><td class=\"num\">3</td>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"num\">12.5 %</td><td class=\"num\">20.0 %</td><td class=\"num\">-</td>"))
      << "measured 1/8, planned 2 of 10 rounds";
  EXPECT_THAT(page, HasSubstr("stories260k-adamw-1f1b-w3, step 3. Measured: 30 ms, bubble 20.0 %."));
  EXPECT_THAT(page, Not(HasSubstr("machine&apos;s doing")));
  EXPECT_EQ(testing::parse_markup(page, true).error, "");
}

TEST(PageTimelines, TheOrderOfTheCellsDoesNotMatter) {
  for (const bool largest_first : {false, true}) {
    EXPECT_THAT(page_of(5, 3, largest_first), HasSubstr("<summary>1f1b, P = 3: drawn</summary>"));
    EXPECT_THAT(page_of(5, 1, largest_first), HasSubstr("<summary>1f1b, P = 2 (more than cores): drawn</summary>"));
  }
}

TEST(PageTimelines, WhereNoPipelineFitsTheSmallestIsShownAndSaidToShare) {
  const std::string page = page_of(4, 1);

  EXPECT_THAT(page, HasSubstr("<summary>1f1b, P = 2 (more than cores): drawn</summary>"));
  EXPECT_THAT(page, HasSubstr("2 ranks shared 1 core: what is measured here is the machine&apos;s doing, not the "
                              "schedule&apos;s."));
}

TEST(PageTimelines, CellsWithoutOneLeaveTheSectionOut) {
  const Verdict verdict = testing::sample_verdict(2);

  EXPECT_THAT(make_page(verdict, testing::sample_evidence(verdict, 2)), Not(HasSubstr("id=\"timelines\"")));
}

}  // namespace
}  // namespace plumbline
