#include "schedule/drawing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/schedule/schedules.hpp"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(DrawText, OneRowARankIdleTimeShows) {
  const Schedule schedule = make_schedule("1f1b", 2, 2);
  const Simulation simulation = simulate(schedule, {{{1, 1, 1}}, {}});

  // 9 units of time, 2 characters each; rank 0 waits from 2 to 4 and from 6 to 7.
  EXPECT_THAT(draw_text(schedule, simulation, 18, false),
              StartsWith("rank 0  F0F1....B0--..B1--\nrank 1  ..F0B0--F1B1--....\n"));
}

TEST(DrawText, ColourTakesTheLettersPlace) {
  const Schedule schedule = make_schedule("zb-h1", 2, 2);
  const Simulation simulation = simulate(schedule, {{{1, 1, 1}}, {}});

  const std::string text = draw_text(schedule, simulation, 40, true);

  EXPECT_EQ(count(text, "\x1b[0m"), 12U + 4U);  // six actions a rank, and the legend
  EXPECT_THAT(text, HasSubstr("weight gradient"));
}

TEST(DrawSvg, EveryComputeActionOnce) {
  for_each_generated([](const Schedule& schedule) {
    if (schedule.microbatches > 4) return;
    const Schedule lowered = lower(schedule, true);
    const std::string svg = draw_svg(lowered, simulate(lowered, {{{1, 1, 1}}, {.1}}));

    for (const ActionList& list : schedule.ranks) {
      for (const Action& action : list) EXPECT_EQ(count(svg, "<title>" + to_text(action) + "</title>"), 1U);
    }
    EXPECT_EQ(count(svg, "SEND"), 0U);
    EXPECT_EQ(count(svg, "<g>"), count(svg, "</g>"));
    EXPECT_EQ(count(svg, "nan") + count(svg, "inf"), 0U);
  });
}

TEST(Draw, NoTimeAtAllDrawsNothingAndDividesByNothing) {
  const Schedule schedule = make_schedule("afab", 2, 1);
  const Simulation simulation = simulate(schedule, {{{0, 0, 0}}, {}});

  EXPECT_THAT(draw_text(schedule, simulation, 10, false), StartsWith("rank 0  ..........\n"));
  EXPECT_EQ(count(draw_svg(schedule, simulation), "nan"), 0U);
}

}  // namespace
}  // namespace plumbline
