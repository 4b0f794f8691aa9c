#include "reports/memory_plot.hpp"

#include <gmock/gmock.h>

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

TEST(MemoryPlot, EachRankHasABarAndTheLawADash) {
  MemoryGroup group{2, {rank_with(0, 3 << 20), rank_with(1, 1 << 20)}};
  group.ranks[1].predicted_bytes = 2 << 20;

  const std::string script = activation_plot_script({{"1f1b", {group}}}, 4 << 20);

  EXPECT_THAT(script, HasSubstr(" 0 3\n"));
  EXPECT_THAT(script, HasSubstr(" 0 1\n"));
  EXPECT_THAT(script, HasSubstr("peak activations (MiB)"));
  EXPECT_THAT(script, HasSubstr("title 'law'"));
  EXPECT_THAT(script, HasSubstr("4 with lines")) << "the reference's own peak";
}

TEST(MemoryPlot, WithoutAPredictionNoLawIsDrawn) {
  const std::string script = activation_plot_script({{"afab", {{1, {rank_with(0, 512)}}}}}, std::nullopt);

  EXPECT_THAT(script, Not(HasSubstr("title 'law'")));
  EXPECT_THAT(script, Not(HasSubstr("title 'reference'")));
  EXPECT_THAT(script, HasSubstr("(bytes)"));
}

TEST(MemoryPlot, AScheduleNamedByAStrangerStaysAName) {
  const std::string script = activation_plot_script({{"x'\n!touch y", {{1, {rank_with(0, 512)}}}}}, std::nullopt);

  EXPECT_THAT(script, HasSubstr("set title 'x'' !touch y'\n"));
}

TEST(MemoryPlot, StateIsStackedFromZero) {
  const std::string script = state_plot_script({{1, {rank_with(0, 1024)}}}, rank_with(0, 1024));

  EXPECT_THAT(script, HasSubstr(" 0 1\n"));
  EXPECT_THAT(script, HasSubstr(" 1 3\n"));
  EXPECT_THAT(script, HasSubstr(" 3 7\n"));
  EXPECT_THAT(script, HasSubstr("model state (KiB)"));
}

}  // namespace
}  // namespace plumbline
