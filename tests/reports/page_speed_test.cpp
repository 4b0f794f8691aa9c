// How fast cells ran: in numbers, and what of it is drawn.
#include <gmock/gmock.h>

#include "reports/page.hpp"
#include "reports/speed_plot.hpp"
#include "tests/reports/page_sections.hpp"
#include "tests/reports/sample_sweep.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

TEST(PageSpeed, RowsHoldWhatWasMeasuredAndPlannedAndPointsAreThoseOfThePlainCells) {
  Verdict verdict = testing::sample_verdict(2);
  verdict.cells = {verdict.cells[1], verdict.cells[0], verdict.cells[1]};  // afab on 2 ranks, on 1, and a variant
  verdict.cells[2].variant = "resumed";
  verdict.cells[2].id += "-resumed";
  Evidence evidence = testing::sample_evidence(verdict, 2);
  RunSummary& reference = evidence.references.at("stories260k-adamw");
  reference.manifest.json["machine"]["cores"] = 1;
  reference.speed = RunSpeed{3, 100, std::nullopt};
  for (std::size_t i = 0; i < 3; ++i) {
    RunSummary& run = evidence.cells.at(verdict.cells[i].id);
    run.speed = RunSpeed{3, i == 0 ? 50.0 : 75.0, 0.25};
    run.timeline = testing::sample_timeline("afab", static_cast<std::int32_t>(verdict.cells[i].world));
  }
  MeasuredTimeline& timeline = *evidence.cells.at(verdict.cells[0].id).timeline;
  timeline.median_bubble_rate = 0.125;
  timeline.planned.bubble_rate = 0.1;

  const std::string page = make_page(verdict, evidence);

  EXPECT_THAT(testing::bare(page),
              HasSubstr("<tr><th>run</th><th>tokens/s</th><th>over the reference&apos;s</th><th>bubble: measured</th>"
                        "<th>planned</th><th>recording</th></tr></thead><tbody>\n"
                        "<tr><td>reference</td><td>100</td><td>1</td><td>-</td><td>-</td><td>-</td></tr>\n"
                        "<tr><td>afab, P = 2</td><td>50</td><td>0.5</td><td>12.5 %</td><td>10.0 %</td>"
                        "<td>25.0 %</td></tr>"));
  const SpeedSeries drawn{
      "afab",
      {{.world = 1, .tokens_per_s = 75, .bubble = 0.125, .planned_bubble = 0.0, .recording = 0.25},
       {.world = 2, .tokens_per_s = 50, .bubble = 0.125, .planned_bubble = 0.1, .recording = 0.25}}};
  EXPECT_THAT(page, HasSubstr(draw_speeds({drawn}, 100, 1, "Speed, stories260k, adamw")));
}

TEST(PageSpeed, APartitionOfItsOwnIsNotDrawnAsItsSchedules) {
  Verdict verdict = testing::sample_verdict(1);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  const CellVerdict& balanced = verdict.cells.back();
  ASSERT_FALSE(balanced.balance.empty());
  evidence.cells.at(balanced.id).speed = RunSpeed{3, 50, 0.25};

  EXPECT_EQ(make_page(verdict, evidence).find("Speed in numbers"), std::string::npos);
}

}  // namespace
}  // namespace plumbline
