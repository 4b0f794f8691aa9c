#include "reports/memory_plot.hpp"

#include <gmock/gmock.h>

#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RankMemory rank_with(std::int64_t rank, std::int64_t measured) {
  RankMemory memory;
  memory.rank = rank;
  memory.activation_bytes = measured;
  memory.parameter_bytes = measured;
  memory.gradient_bytes = 2 * measured;
  memory.optimizer_bytes = 4 * measured;
  return memory;
}

std::size_t bars_in(const std::string& svg, const std::string& fill) {
  std::size_t count = 0;
  for (std::size_t at = svg.find(fill); at != std::string::npos; at = svg.find(fill, at + 1)) ++count;
  return count - 1;  // one stands in the legend
}

constexpr const char* law = "stroke=\"#B33A00\"";

TEST(MemoryPlot, EachRankHasABarAndTheLawADash) {
  MemoryGroup group{2, {rank_with(0, 3 << 20), rank_with(1, 1 << 20)}};
  group.ranks[1].predicted_bytes = 2 << 20;

  const std::string svg = draw_activations({{"1f1b", {group}}}, 4 << 20, "t");

  const auto group_at = svg.find(R"(<g fill="#9cc3e0")");
  ASSERT_NE(group_at, std::string::npos);
  const std::string bars = svg.substr(group_at, svg.find("</g>", group_at) - group_at);
  EXPECT_NE(bars.find("<rect"), bars.rfind("<rect")) << "two bars";
  EXPECT_EQ(bars_in(svg, law), 1U);
  EXPECT_THAT(svg, HasSubstr("peak activations (MiB)"));
  EXPECT_THAT(svg, HasSubstr(">1f1b</text>"));
  // The axis ends at 1.08 times the largest, 4 MiB, and is 190 pixels high: a bar of 3 MiB is 131.94 of them.
  EXPECT_THAT(svg, HasSubstr("height=\"131.94\""));
  EXPECT_THAT(svg, HasSubstr("height=\"43.98\""));
  EXPECT_THAT(svg, HasSubstr(" 152.04H")) << "the law's 2 MiB: 240 - 87.96";
  EXPECT_EQ(testing::parse_markup(svg, false).error, "");
}

TEST(MemoryPlot, WithoutAPredictionNoLawIsDrawn) {
  const std::string svg = draw_activations({{"afab", {{1, {rank_with(0, 512)}}}}}, std::nullopt, "t");

  EXPECT_THAT(svg, Not(HasSubstr(">law<")));
  EXPECT_THAT(svg, Not(HasSubstr(">reference<")));
  EXPECT_THAT(svg, HasSubstr("(bytes)"));
}

TEST(MemoryPlot, AScheduleNamedByAStrangerStaysAName) {
  const std::string svg = draw_activations({{"x'<b>\n!", {{1, {rank_with(0, 512)}}}}}, std::nullopt, "t");

  EXPECT_THAT(svg, HasSubstr(">x&#39;&lt;b&gt;&#10;!</text>"));
}

TEST(MemoryPlot, AUnitIsOneOf1024) {
  const auto axis = [](std::int64_t bytes) {
    return draw_activations({{"afab", {{1, {rank_with(0, bytes)}}}}}, std::nullopt, "t");
  };

  EXPECT_THAT(axis(1'050'000'000), HasSubstr("peak activations (MiB)"));
  EXPECT_THAT(axis(std::int64_t{1} << 30), HasSubstr("peak activations (GiB)"));
  EXPECT_THAT(axis(1'020'000), HasSubstr("peak activations (KiB)"));
}

TEST(MemoryPlot, TheReferenceAndALawAboveAllMeasuredLieInThePlot) {
  MemoryGroup group{1, {rank_with(0, 2 << 20)}};
  EXPECT_THAT(draw_activations({{"1f1b", {group}}}, 4 << 20, "t"), HasSubstr("y1=\"64.07\"")) << "190 / 1.08 above 240";

  group.ranks[0] = rank_with(0, 2'300'000);
  group.ranks[0].predicted_bytes = 8 << 20;
  EXPECT_THAT(draw_activations({{"1f1b", {group}}}, std::nullopt, "t"), HasSubstr(" 64.07H"))
      << "the law is the largest";
}

TEST(MemoryPlot, SchedulesStandSideBySide) {
  const MemoryGroup group{1, {rank_with(0, 512)}};

  const std::string svg = draw_activations({{"afab", {group}}, {"1f1b", {group}}, {"zb-v", {group}}}, {}, "t");

  EXPECT_THAT(svg, HasSubstr("M80 50V240H485"));
  EXPECT_THAT(svg, HasSubstr("M580 50V240H985"));
  EXPECT_THAT(svg, HasSubstr("M80 340V530H485"));
}

TEST(MemoryPlot, TheLegendOfStateNamesEachPart) {
  const std::string svg = draw_state({{1, {rank_with(0, 1024)}}}, rank_with(0, 1024), "t");

  EXPECT_THAT(svg, HasSubstr("fill=\"#1b3a5c\" stroke=\"#1b3a5c\" stroke-width=\"0.8\"/>\n<text x=\"30\" y=\"10\">"
                             "parameters</text>"));
  EXPECT_THAT(svg, HasSubstr("fill=\"#dbe8f3\" stroke=\"#1b3a5c\" stroke-width=\"0.8\"/>\n<text x=\"30\" y=\"10\">"
                             "optimiser state</text>"));
}

TEST(MemoryPlot, StateIsStackedFromZero) {
  const std::string svg = draw_state({{1, {rank_with(0, 1024)}}}, rank_with(0, 1024), "t");

  // 7 KiB in all: the axis ends at 7.56 KiB and is 200 pixels high, from 236 upwards.
  EXPECT_THAT(svg, HasSubstr("y=\"209.54\" width=\"304.08\" height=\"26.46\"")) << "1 KiB from 0";
  EXPECT_THAT(svg, HasSubstr("y=\"156.63\" width=\"304.08\" height=\"52.91\"")) << "2 KiB from 1";
  EXPECT_THAT(svg, HasSubstr("y=\"50.81\" width=\"304.08\" height=\"105.82\"")) << "4 KiB from 3";
  EXPECT_THAT(svg, HasSubstr("model state (KiB)"));
  EXPECT_THAT(svg, HasSubstr(">ref.</text>"));
}

}  // namespace
}  // namespace plumbline
