// SPDX-License-Identifier: BSD-3-Clause
#include "reports/memory_plot.hpp"

#include <gmock/gmock.h>

#include "tests/markup_text.hpp"
#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RankMemory rank_with(std::int64_t rank, std::int64_t measured) {
  RankMemory memory;
  memory.rank = rank;
  memory.activation_bytes = measured;
  return memory;
}

/// Scaled to its own largest value.
std::string drawn(const std::vector<MemoryPanel>& panels, const std::optional<std::int64_t>& peak) {
  return draw_activations(panels, peak, largest_activation(panels, peak), "t");
}

constexpr const char* law = "stroke=\"#d1580f\"";

TEST(MemoryPlot, EachRankHasABarAndADashForThePrediction) {
  MemoryGroup group{2, {rank_with(0, 3 << 20), rank_with(1, 1 << 20)}};
  group.ranks[1].predicted_bytes = 2 << 20;

  const std::string svg = drawn({{"1f1b", {group}}}, 4 << 20);

  const auto group_at = svg.find(R"(<g fill="#9cc3e0")");
  ASSERT_NE(group_at, std::string::npos);
  const std::string bars = svg.substr(group_at, svg.find("</g>", group_at) - group_at);
  EXPECT_NE(bars.find("<rect"), bars.rfind("<rect")) << "two bars";
  EXPECT_EQ(testing::times_in(svg, law), 2U) << "one is in the legend";
  EXPECT_THAT(svg, HasSubstr("peak activations (MiB)"));
  EXPECT_THAT(svg, HasSubstr(">1f1b</text>"));
  // The axis ends at 1.08 times the largest, 4 MiB, and is 130 pixels high: a bar of 3 MiB is 90.28 of them.
  EXPECT_THAT(svg, HasSubstr("height=\"90.28\""));
  EXPECT_THAT(svg, HasSubstr("height=\"30.09\""));
  EXPECT_THAT(svg, HasSubstr(" 119.81H")) << "the predicted 2 MiB: 180 - 60.19";
  EXPECT_THAT(draw_activations({{"1f1b", {group}}}, 4 << 20, 8 << 20, "t"), HasSubstr("height=\"45.14\""))
      << "half as high, on a larger scale";
  EXPECT_EQ(testing::parse_markup(svg, false).error, "");
}

TEST(MemoryPlot, DrawsNoDashWithoutAPrediction) {
  const std::string svg = drawn({{"afab", {{1, {rank_with(0, 512)}}}}}, std::nullopt);

  EXPECT_THAT(svg, Not(HasSubstr(">predicted")));
  EXPECT_THAT(svg, Not(HasSubstr(">the reference")));
  EXPECT_THAT(svg, HasSubstr("(bytes)"));
}

TEST(MemoryPlot, EscapesAScheduleName) {
  const std::string svg = drawn({{"x'<b>\n!", {{1, {rank_with(0, 512)}}}}}, std::nullopt);

  EXPECT_THAT(svg, HasSubstr(">x&#39;&lt;b&gt;&#10;!</text>"));
}

TEST(MemoryPlot, UnitsArePowersOf1024) {
  const auto axis = [](std::int64_t bytes) { return drawn({{"afab", {{1, {rank_with(0, bytes)}}}}}, std::nullopt); };

  EXPECT_THAT(axis(1'050'000'000), HasSubstr("peak activations (MiB)"));
  EXPECT_THAT(axis(std::int64_t{1} << 30), HasSubstr("peak activations (GiB)"));
  EXPECT_THAT(axis(1'020'000), HasSubstr("peak activations (KiB)"));
}

TEST(MemoryPlot, ReferenceAndLargePredictionsFitInThePlot) {
  MemoryGroup group{1, {rank_with(0, 2 << 20)}};
  EXPECT_THAT(drawn({{"1f1b", {group}}}, 4 << 20), HasSubstr("y1=\"59.63\"")) << "130 / 1.08 above 180";

  group.ranks[0] = rank_with(0, 2'300'000);
  group.ranks[0].predicted_bytes = 8 << 20;
  EXPECT_THAT(drawn({{"1f1b", {group}}}, std::nullopt), HasSubstr(" 59.63H")) << "the law is the largest";
}

TEST(MemoryPlot, FourSchedulesShareARow) {
  const MemoryGroup group{1, {rank_with(0, 512)}};

  const std::string svg = drawn(std::vector<MemoryPanel>(5, {"afab", {group}}), {});

  EXPECT_THAT(svg, HasSubstr("M70 50V180H324"));
  EXPECT_THAT(svg, HasSubstr("M376 50V180H630"));
  EXPECT_THAT(svg, HasSubstr("M70 270V400H324")) << "the fifth is in the second row";
}

}  // namespace
}  // namespace plumbline
