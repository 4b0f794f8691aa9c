// SPDX-License-Identifier: BSD-3-Clause
#include "reports/mission_figures.hpp"

#include <gmock/gmock.h>

#include "reports/summary_md.hpp"
#include "tests/reports/page_sections.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MissionFigures, CoverEachWorldSize) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.cells.resize(3);
  for (std::size_t i = 0; i < 3; ++i) {
    verdict.cells[i].world = i == 0 ? 1 : 4;
    testing::check_of(verdict.cells[i], "data").evidence = {{"lengths_in_a_step", 2 + static_cast<std::int64_t>(i)}};
  }
  testing::check_of(verdict.cells[1], "boundaries").evidence = {{"crossings_of_empty_stages", 1200}};
  testing::check_of(verdict.cells[2], "boundaries").evidence = {{"crossings_of_empty_stages", 34}};
  testing::check_of(verdict.cells[2], "nonzero_gradients").evidence = {{"parameters", 47}, {"lm_head.weight", 1}};
  testing::check_of(verdict.cells[1], "memory").evidence = {{"activation_peak_permille_of_model", 987}};

  const auto figures = mission_figures(verdict);

  ASSERT_EQ(figures.size(), 2U);
  EXPECT_THAT(figure_texts(figures[0]), ElementsAre("1", "-", "2", "-", "-", "-"));
  EXPECT_EQ(figures[1].world, 4);
  EXPECT_THAT(figure_texts(figures[1]), ElementsAre("2", "1,234", "4", "47", "1 of 2 cases", "98.7 %"));
  EXPECT_THAT(summary_md(verdict), HasSubstr("| 4 | 2 | 1,234 | 4 | 47 | 1 of 2 cases | 98.7 % |\n"));
  EXPECT_THAT(testing::bare(testing::rendered_page(verdict)),
              HasSubstr("<tr><th>4</th><td>2</td><td>1,234</td><td>4</td><td>47</td><td>1 of 2 cases</td>"));
}

}  // namespace
}  // namespace plumbline
