// SPDX-License-Identifier: BSD-3-Clause
// Every cell at a glance: each square in its row and column, with the sign of what became of it.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/reports/page_sections.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string markup_of(const Verdict& verdict) {
  return testing::section_of(testing::rendered_page(verdict), "<div class=\"overview\">", "<h2 id=\"figures\">");
}

std::string overview_of(const Verdict& verdict) {
  return testing::bare(markup_of(verdict));
}

TEST(PageOverview, SquaresStandUnderTheirWorldSizeWithTheirSign) {
  Verdict verdict = testing::sample_verdict(3);
  verdict.cells.resize(6);  // afab and 1f1b
  testing::break_check(verdict, 0, "loss");
  testing::break_check(verdict, 2, "completion");
  testing::break_check(verdict, 3, "loss");
  verdict.cells[3].second_run = SecondRun{SecondRun::Outcome::holds, ""};
  verdict.cells.erase(verdict.cells.begin() + 1);  // afab on two ranks

  const std::string text = overview_of(verdict);

  EXPECT_THAT(text, HasSubstr("<tr><th>world size P</th><th>1</th><th>2</th><th>3</th></tr>"));
  EXPECT_THAT(text, HasSubstr("<tr><th>afab</th><td><a>\u2717</a></td><td></td><td><a>!</a></td></tr>"));
  EXPECT_THAT(text, HasSubstr("<tr><th>1f1b</th><td><a>~</a></td><td><a>\u2713</a></td><td><a>\u2713</a></td></tr>"));
}

TEST(PageOverview, EachSquareLeadsToItsCellWithTheLookAndTheWordsOfItsOutcome) {
  Verdict verdict = testing::sample_verdict(5);
  testing::break_check(verdict, 0, "loss");
  testing::break_check(verdict, 1, "completion");
  testing::break_check(verdict, 2, "loss");
  verdict.cells[2].second_run = SecondRun{SecondRun::Outcome::holds, ""};
  testing::check_of(verdict.cells[3], "completion").outcome = Outcome::incomplete;
  verdict.cells[3].holds = false;

  const std::string text = markup_of(verdict);

  for (const auto& [look, words] :
       {std::pair{"<a class=\"fails\" href=\"#c0\" data-p=\"1\" title=\"", "P = 1: does not hold"},
        {"<a class=\"crashed\" href=\"#c1\" data-p=\"2\" title=\"", "P = 2: did not end well"},
        {"<a class=\"unstable\" href=\"#c2\" data-p=\"3\" title=\"", "P = 3: unstable"},
        {"<a class=\"incomplete\" href=\"#c3\" data-p=\"4\" title=\"", "P = 4: incomplete"},
        {"<a href=\"#c4\" data-p=\"5\" title=\"", "P = 5: holds"}}) {
    EXPECT_THAT(text, HasSubstr(std::string(look) + "stories260k, adamw, afab, " + words + "\""));
  }
}

TEST(PageOverview, TheLegendNamesTheLooksThatAreThere) {
  Verdict verdict = testing::sample_verdict(3);
  const auto legend = [&] {
    return testing::bare(testing::section_of(testing::rendered_page(verdict), "aria-label=\"Signs\">", "</ul>"));
  };
  EXPECT_THAT(legend(), HasSubstr("><li><i>\u2713</i>holds (28)</li>"));
  EXPECT_THAT(legend(), Not(HasSubstr("does not hold")));

  testing::break_check(verdict, 0, "loss");
  testing::break_check(verdict, 1, "completion");
  EXPECT_THAT(legend(), HasSubstr("><li><i>\u2713</i>holds (26)</li><li><i>\u2717</i>does not hold (1)</li>"
                                  "<li><i>!</i>did not end well (1)</li>"));
}

// No two squares share a place.
TEST(PageOverview, WhatDistinguishesCasesOfOneScheduleAndSizeIsInTheirRow) {
  Verdict verdict = testing::sample_verdict(3);
  const auto balanced = std::ranges::find(verdict.cells, std::vector<std::int64_t>{3, 2, 0}, &CellVerdict::balance);
  ASSERT_NE(balanced, verdict.cells.end());
  testing::break_check(verdict, static_cast<std::size_t>(balanced - verdict.cells.begin()), "loss");

  verdict.cells[0].variant = "resumed";

  const std::string text = overview_of(verdict);

  EXPECT_THAT(text, HasSubstr("<tr><th>afab, resumed</th><td><a>\u2713</a></td><td></td>"));
  EXPECT_THAT(text, HasSubstr("[0, 2, 3]</th><td></td><td></td><td><a>\u2713</a></td>"));
  EXPECT_THAT(text, HasSubstr("[3, 2, 0]</th><td></td><td></td><td><a>\u2717</a></td>"));
  EXPECT_THAT(text, Not(HasSubstr("</a><a>")));
}

TEST(PageOverview, EachRunHasItsTable) {
  Verdict verdict = testing::sample_verdict(1);
  const std::string text = overview_of(verdict);

  EXPECT_EQ(testing::times_in(text, "<a>"), verdict.cells.size());
  EXPECT_EQ(testing::times_in(text, "<table>"), 4U);
  for (const char* title : {"stories260k, adamw", "stories260k, sgd", "untied, adamw", "untied, sgd"})
    EXPECT_THAT(text, HasSubstr(std::string("<caption>") + title + "</caption>"));

  verdict.cells[1].run = "bf16";
  EXPECT_THAT(overview_of(verdict), HasSubstr("<caption>stories260k, adamw (bf16)</caption>"));
}

}  // namespace
}  // namespace plumbline
