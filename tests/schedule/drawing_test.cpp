// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/drawing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/bubble.hpp"
#include "schedule/lowering.hpp"
#include "tests/schedule/schedules.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(DrawText, ShowsOneRowPerRankWithIdleTime) {
  const Schedule schedule = make_schedule("1f1b", 2, 2);
  const Simulation simulation = simulate(schedule, {{{1, 1, 1}}, {}});

  // 9 units of time, 2 characters each; rank 0 waits from 2 to 4 and from 6 to 7.
  EXPECT_EQ(draw_text({{"", schedule, simulation}}, 18, false),
            "rank 0  F0F1....B0--..B1--\nrank 1  ..F0B0--F1B1--....\nF forward, B backward, . idle\n");
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

TEST(Draw, TwoTimelinesShareOneTimeScaleEachFromItsOwnFirstStart) {
  const Schedule schedule{"hand", {1, 1}, 1, {{{0, ActionType::forward, 0}, {0, ActionType::backward, 0}}}};
  const Simulation slow = summarize(schedule, {{{100, 102}, {105, 110}}});
  const Simulation quick = summarize(schedule, {{{0, 1}, {1, 3}}});
  const std::vector<Timeline> both = {{"measured", schedule, slow, {{0, 2}}}, {"planned", schedule, quick}};

  const std::string svg = draw_svg(both, 1000);

  // 100 pixels a unit from 60 on; rows 26 high, each timeline's title 20, 8 between them.
  EXPECT_THAT(svg, HasSubstr("<rect x=\"60\" y=\"25\" width=\"200\" height=\"20\" fill=\"#7aa6da\"><title>0F0<"));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"560\" y=\"25\" width=\"500\" height=\"20\" fill=\"#8fbf8f\"><title>0B0<"));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"360\" y=\"33\" width=\"200\" height=\"4\" fill=\"#949494\"/>")) << "waiting";
  EXPECT_THAT(svg, HasSubstr("<rect x=\"160\" y=\"79\" width=\"200\" height=\"20\" fill=\"#8fbf8f\"><title>0B0<"));
  EXPECT_THAT(draw_text(both, 20, false),
              StartsWith("measured\nrank 0  F0--......B0--------\nplanned\nrank 0  F0B0--..............\n"));
}

TEST(DrawSvg, DrawsMessagesInProgressAsThinBars) {
  const Schedule schedule{
      "hand",
      {1, 1},
      1,
      {{{0, ActionType::send_forward, 0}, {0, ActionType::forward, 0}, {0, ActionType::send_backward, 0}}}};
  const Simulation simulation = summarize(schedule, {{{2, 5}, {0, 10}, {9, 99}}});

  const std::string svg = draw_svg({{"", schedule, simulation}}, 1000);

  EXPECT_THAT(svg, HasSubstr("<rect x=\"260\" y=\"26\" width=\"300\" height=\"2\" fill=\"#444444\"/>"));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"960\" y=\"26\" width=\"100\" height=\"2\" fill=\"#444444\"/>")) << "cut off";
}

TEST(DrawSvg, StartsAtTheFirstComputeActionAndOmitsReceives) {
  const Schedule schedule{"hand", {1, 1}, 1, {{{0, ActionType::receive_forward, 0}, {0, ActionType::forward, 0}}}};
  const Simulation simulation = summarize(schedule, {{{0, 5}, {5, 10}}});

  const std::string svg = draw_svg({{"", schedule, simulation}}, 1000);

  EXPECT_THAT(svg, HasSubstr("<rect x=\"60\" y=\"5\""));
  EXPECT_EQ(count(svg, "#444444"), 0U);
}

TEST(DrawSvg, ShowsIdleTimeAsWaitingIfNoneWasMeasured) {
  const Schedule schedule{"hand", {1, 1}, 1, {{{0, ActionType::forward, 0}, {0, ActionType::backward, 0}}}};
  const Simulation simulation = summarize(schedule, {{{0, 2}, {5, 10}}});

  const std::string svg = draw_svg({{"", schedule, simulation}}, 1000);

  EXPECT_THAT(svg, HasSubstr("<rect x=\"260\" y=\"13\" width=\"300\" height=\"4\" fill=\"#949494\"/>"));
  EXPECT_EQ(count(svg, "#949494"), 2U) << "and the legend's";
}

TEST(DrawSvg, ScalesMakespansBelowOne) {
  const Schedule schedule{"hand", {1, 1}, 4, {{{0, ActionType::forward, 3}}}};
  const Simulation simulation = summarize(schedule, {{{0, 0.25}}});

  const std::string svg = draw_svg({{"", schedule, simulation}}, 1000);

  EXPECT_THAT(svg, HasSubstr("<rect x=\"60\" y=\"5\" width=\"1000\" height=\"20\" fill=\"#7aa6da\"><title>0F3<"));
  EXPECT_THAT(svg, HasSubstr("<text x=\"560\" y=\"20\">3</text>")) << "its microbatch";
}

TEST(DrawSvg, SizeFollowsTheNumberOfRanks) {
  Schedule schedule{"hand", {2, 1}, 25, {{}, {{1, ActionType::forward, 0}}}};
  for (std::int32_t microbatch = 0; microbatch < 25; ++microbatch) {
    schedule.ranks[0].push_back({0, ActionType::forward, microbatch});
    schedule.ranks[0].push_back({0, ActionType::backward, microbatch});
  }
  std::vector<std::vector<ActionTime>> times{{}, {{0, 1}}};
  for (int i = 0; i < 50; ++i) times[0].push_back({i * 1.0, i + 1.0});
  const Simulation simulation = summarize(schedule, times);

  const std::string svg = draw_svg({{"", schedule, simulation}});

  // 22 for each of 50 actions, 60 to their left and 10 to their right; two rows of 26, 5 above, 8 below, 18 of legend.
  EXPECT_THAT(svg, HasSubstr(" width=\"1170\" height=\"83\" viewBox=\"0 0 1170 83\""));
  EXPECT_THAT(svg, HasSubstr("<title>schedule, 2 ranks, 25 microbatches</title>"));
}

TEST(DrawSvg, LegendHasTheColorsThatAreDrawnAndNoOthers) {
  const Schedule all{"hand",
                     {1, 1},
                     1,
                     {{{0, ActionType::forward, 0},
                       {0, ActionType::send_forward, 0},
                       {0, ActionType::backward, 0},
                       {0, ActionType::backward_input, 0},
                       {0, ActionType::backward_weight, 0}}}};
  const Schedule two{"hand", {1, 1}, 1, {{{0, ActionType::forward, 0}, {0, ActionType::backward_weight, 0}}}};
  const Simulation all_times = summarize(all, {{{0, 2}, {2, 3}, {4, 6}, {6, 8}, {8, 10}}});
  const Simulation two_times = summarize(two, {{{0, 2}, {2, 10}}});
  using Entries = std::vector<std::pair<std::string, std::string>>;
  const auto expect = [](const std::string& svg, const Entries& entries) {
    int x = 60;
    for (const auto& [fill, word] : entries) {
      EXPECT_THAT(svg, HasSubstr("<rect x=\"" + std::to_string(x) + "\" y=\"39\" width=\"12\" height=\"12\" fill=\"#" +
                                 fill + "\"/><text x=\"" + std::to_string(x + 16) + "\" y=\"49\">" + word + "</text>"));
      x += 110;
    }
    EXPECT_EQ(count(svg, " height=\"12\""), entries.size());
  };

  expect(draw_svg({{"", all, all_times}}, 1000), {{"7aa6da", "forward"},
                                                  {"8fbf8f", "backward"},
                                                  {"8cd0c8", "input gradient"},
                                                  {"e8c878", "weight gradient"},
                                                  {"949494", "waiting"},
                                                  {"444444", "sending"}});
  expect(draw_svg({{"", two, two_times}}, 1000), {{"7aa6da", "forward"}, {"e8c878", "weight gradient"}});
}

TEST(DrawText, OmitsAMicrobatchNumberThatDoesNotFit) {
  const Schedule schedule{"hand", {1, 1}, 13, {{{0, ActionType::forward, 12}, {0, ActionType::backward, 12}}}};
  const Simulation simulation = summarize(schedule, {{{0, 2}, {2, 5}}});

  EXPECT_THAT(draw_text({{"", schedule, simulation}}, 5, false), StartsWith("rank 0  F-B12\n"));
}

TEST(Draw, AcceptsATimelineWithoutTime) {
  const Schedule schedule = make_schedule("afab", 2, 1);
  const Simulation simulation = simulate(schedule, {{{0, 0, 0}}, {}});

  EXPECT_THAT(draw_text({{"", schedule, simulation}}, 10, false), StartsWith("rank 0  ..........\n"));
  EXPECT_EQ(count(draw_svg({{"", schedule, simulation}}), "nan"), 0U);
}

}  // namespace
}  // namespace plumbline
