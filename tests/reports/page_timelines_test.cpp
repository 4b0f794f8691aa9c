#include <gmock/gmock.h>

#include <algorithm>

#include "reports/page.hpp"
#include "tests/reports/page_sections.hpp"
#include "tests/reports/sample_sweep.hpp"
#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Evidence evidence_of(const Verdict& verdict, std::int64_t cores) {
  Evidence evidence = testing::sample_evidence(verdict, 2);
  for (const CellVerdict& cell : verdict.cells) {
    RunSummary& run = evidence.cells.at(cell.id);
    run.manifest.json["machine"]["cores"] = cores;
    run.timeline = testing::sample_timeline(cell.schedule, static_cast<std::int32_t>(cell.world));
  }
  return evidence;
}

std::string page_of(std::int64_t worlds, std::int64_t cores, bool largest_first = false) {
  Verdict verdict = testing::sample_verdict(worlds);
  if (largest_first) std::ranges::reverse(verdict.cells);
  return make_page(verdict, evidence_of(verdict, cores));
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

TEST(PageTimelines, WhatWasMeasuredAndWhatWasPlannedStandInTheirColumns) {
  Verdict verdict = testing::sample_verdict(3);
  Evidence evidence = evidence_of(verdict, 8);
  RunSummary& run = evidence.cells.at("stories260k-adamw-1f1b-w3");
  run.timeline->median_makespan = 44;
  run.timeline->measured.makespan = 36;
  run.timeline->measured.bubble_rate = 0.4;
  run.timeline->closed_form_rate = 1.0 / 3;
  run.timeline->lengths_differ = true;
  run.manifest.level = RecordLevel::summary;

  const std::string page = make_page(verdict, evidence);

  EXPECT_THAT(testing::bare(page), HasSubstr("<tr><td>1f1b</td><td>stories260k-adamw-1f1b-w3</td><td>3</td><td>44</td>"
                                             "<td>30</td><td>12.5 %</td><td>20.0 %</td><td>33.3 %</td></tr>"))
      << "not the balance of four ranks";
  EXPECT_THAT(page,
              HasSubstr("stories260k-adamw-1f1b-w3, step 3. Measured: 36 ms, bubble 40.0 %. Planned: 30 ms, bubble "
                        "20.0 %, from the medians over 4 steps, one for each stage and kind of action and length "
                        "of microbatch. Closed form, for equal stages with the mean of these times: 33.3 %."
                        "</figcaption>"));
  for (const RecordLevel level : {RecordLevel::full, RecordLevel::dump}) {
    run.manifest.level = level;
    EXPECT_THAT(make_page(verdict, evidence), HasSubstr(" these times: 33.3 %. The ranks also digested every tensor"));
  }
}

TEST(PageTimelines, AMachineOfMoreCoresThanRanksIsTold) {
  EXPECT_THAT(page_of(3, 8), HasSubstr("has a core a rank for (8 cores)"));
}

TEST(PageTimelines, WhereNobodyKnowsTheCoresTheLargestIsShownAndItIsSaid) {
  const Verdict verdict = testing::sample_verdict(3);
  Evidence evidence = evidence_of(verdict, 2);
  for (auto& [id, run] : evidence.cells) run.manifest.json["machine"].erase("cores");

  const std::string page = make_page(verdict, evidence);

  EXPECT_THAT(page, HasSubstr("<summary>1f1b, P = 3: drawn</summary>"));
  EXPECT_THAT(page, HasSubstr("The record does not say how many cores there were.</figcaption>"));
}

TEST(PageTimelines, CellsWithoutOneLeaveTheSectionOut) {
  const Verdict verdict = testing::sample_verdict(2);

  EXPECT_THAT(make_page(verdict, testing::sample_evidence(verdict, 2)), Not(HasSubstr("id=\"timelines\"")));
}

}  // namespace
}  // namespace plumbline
