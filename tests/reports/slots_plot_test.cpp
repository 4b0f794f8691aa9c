#include "reports/slots_plot.hpp"

#include <gmock/gmock.h>

#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

TEST(SlotCurve, FollowsTheClosedForms) {
  const SlotCurve afab = slot_curve("afab", 4, 8), one = slot_curve("1f1b", 4, 8);

  ASSERT_EQ(afab.slots.size(), 8U);
  for (const auto& [microbatches, slots] : afab.slots) EXPECT_EQ(slots, microbatches) << "all of them";
  for (const auto& [microbatches, slots] : one.slots) EXPECT_EQ(slots, std::min(microbatches, 4)) << "min(m, p)";
}

TEST(SlotCurve, LeavesOutWhatAScheduleCannotHave) {
  EXPECT_TRUE(slot_curve("a list of one's own", 4, 8).slots.empty());
  const auto few = slot_curve("dualpipe-v", 4, 16);

  ASSERT_FALSE(few.slots.empty());
  EXPECT_GT(few.slots.front().first, 1) << "it needs 2 p microbatches";
}

TEST(SlotCurve, OfSeveralChunksARankCountsShares) {
  const SlotCurve curve = slot_curve("zb-v", 4, 16);

  ASSERT_FALSE(curve.slots.empty());
  EXPECT_EQ(curve.slots.back().second, 4) << "as much as 1F1B's first rank, in chunks of half the size";
}

TEST(SlotsPlot, PointsAndTheMarkStandAtTheirNumbers) {
  const std::string svg = draw_slots({slot_curve("1f1b", 2, 4)}, 3, "slots");

  // Microbatches from 0.5 to 4.5 over 630 pixels from 70 on, slots to 2.16 over 230 upwards from 246.
  EXPECT_THAT(svg, HasSubstr("M621.25 33.04m-3.5 0a")) << "2 of 4";
  EXPECT_THAT(svg, HasSubstr("<line x1=\"463.75\" y1=\"16\"")) << "these runs";
}

TEST(SlotsPlot, DrawsEveryScheduleWithItsName) {
  const std::string svg = draw_slots({slot_curve("afab", 4, 8), slot_curve("1f1b", 4, 8)}, 5, "<slots>");

  EXPECT_EQ(testing::parse_markup(svg, false).error, "");
  EXPECT_THAT(svg, HasSubstr(">afab, P = 4</text>"));
  EXPECT_THAT(svg, HasSubstr(">these runs</text>"));
}

}  // namespace
}  // namespace plumbline
