// SPDX-License-Identifier: BSD-3-Clause
#include "reports/plot/marks.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace plumbline::plot {
namespace {

using ::testing::HasSubstr;

std::string data_of(const std::string& path) {
  const auto begin = path.find("d=\"") + 3;
  return path.substr(begin, path.find('"', begin) - begin);
}

TEST(Marks, PointsOnEachOtherAreDrawnOnce) {
  EXPECT_EQ(draw_points(0, {{1, 2}, {1, 2}, {1, 2.001}}), draw_points(0, {{1, 2}}));
  EXPECT_NE(draw_points(0, {{1, 2}, {1, 3}}), draw_points(0, {{1, 2}}));
}

TEST(Marks, ALineHasAGapWhereAValueIsNotFinite) {
  EXPECT_EQ(data_of(draw_line(0, {{0, 0}, {1, 1}, {2, NAN}, {3, 3}, {4, 5}})), "M0 0L1 1M3 3L4 5");
}

TEST(Marks, OnALevelLineOnlyTheEndsStand) {
  EXPECT_EQ(data_of(draw_line(0, {{0, 5}, {1, 5}, {2, 5}, {3, 5}, {4, 7}})), "M0 5L3 5L4 7");
  EXPECT_EQ(data_of(draw_line(0, {{0, 7}, {1, 5}, {2, 5}, {3, 5}})), "M0 7L1 5L3 5");
  EXPECT_EQ(data_of(draw_line(0, {{0, 5}, {1, 5}, {2, NAN}, {3, 5}, {4, 5}})), "M0 5L1 5M3 5L4 5");
}

TEST(Marks, SeriesDifferInShapeAndInDashesToo) {
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(data_of(draw_points(i, {{9, 9}})), data_of(draw_points(j, {{9, 9}}))) << i << " and " << j;
      const auto dashes = [](std::size_t series) {
        const std::string line = draw_line(series, {{0, 0}, {1, 1}});
        const auto at = line.find("stroke-dasharray");
        return at == std::string::npos ? "" : line.substr(at);
      };
      EXPECT_NE(dashes(i), dashes(j)) << i << " and " << j;
    }
  }
}

TEST(Marks, SeriesDifferInColour) {
  EXPECT_THAT(draw_points(0, {{9, 9}}), HasSubstr("stroke=\"#0072B2\""));
  EXPECT_THAT(draw_line(1, {{0, 0}, {1, 1}}), HasSubstr("stroke=\"#D55E00\""));
}

TEST(Marks, NothingToDrawIsNoElement) {
  EXPECT_EQ(draw_points(0, {{NAN, 1}}), "");
  EXPECT_EQ(draw_points(0, {{1, INFINITY}}), "");
  EXPECT_EQ(draw_line(0, {}), "");
}

}  // namespace
}  // namespace plumbline::plot
