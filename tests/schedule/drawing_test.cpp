// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/drawing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/lowering.hpp"
#include "tests/schedule/schedules.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(DrawText, ColorsReplaceLetters) {
  const Schedule schedule = make_schedule("zb-h1", 2, 2);
  const Simulation simulation = simulate(schedule, {{{1, 1, 1}}, {}});

  const std::string text = draw_text({{"", schedule, simulation}}, 40, true);

  EXPECT_EQ(count(text, "\x1b[0m"), 12U + 3U);  // six actions a rank, and the legend
  EXPECT_THAT(text, HasSubstr("weight gradient"));
}

TEST(DrawSvg, EveryComputeActionOnce) {
  for_each_generated([](const Schedule& schedule) {
    if (schedule.microbatches > 4) return;
    const Schedule lowered = lower(schedule, true);
    const Simulation simulation = simulate(lowered, {{{1, 1, 1}}, {.1}});
    const std::string svg = draw_svg({{"", lowered, simulation}});

    for (const ActionList& list : schedule.ranks) {
      for (const Action& action : list) EXPECT_EQ(count(svg, "<title>" + to_text(action) + "</title>"), 1U);
    }
    EXPECT_EQ(count(svg, "SEND"), 0U);
    EXPECT_EQ(count(svg, "<g"), count(svg, "</g>"));
    EXPECT_EQ(count(svg, "nan") + count(svg, "inf"), 0U);
  });
}

}  // namespace
}  // namespace plumbline
