// The grids of world size and check: each square leads to its own check, and no cell is left out.
#include <gmock/gmock.h>

#include "reports/page.hpp"
#include "reports/words.hpp"
#include "tests/reports/page_sections.hpp"
#include "tests/reports/sample_sweep.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using testing::check_of;
using ::testing::HasSubstr;
using ::testing::Not;

std::string grids_of(const Verdict& verdict) {
  return testing::section_of(testing::rendered_page(verdict), "<h2 id=\"cells\">", "<h2 id=\"plots\">");
}

/// One model, optimiser and schedule on one and two ranks.
Verdict one_grid() {
  Verdict verdict = testing::sample_verdict(2);
  verdict.cells.resize(2);
  verdict.references.clear();
  return verdict;
}

TEST(PageCells, ASquareLeadsToItsOwnCheckAndSaysWhatBecameOfIt) {
  Verdict verdict = one_grid();
  CheckResult& memory = check_of(verdict.cells[1], "memory");
  memory.outcome = Outcome::not_run;
  memory.requirement = Requirement::told;
  CheckResult& loss = check_of(verdict.cells[1], "loss");
  loss.outcome = Outcome::fails;
  loss.margin = 1.25;

  const std::string text = grids_of(verdict);

  const auto number = [&](const CheckResult& check) { return std::to_string(&check - verdict.cells[1].checks.data()); };
  EXPECT_THAT(text, HasSubstr("<td><a class=\"not_run optional\" title=\"memory, P = 2: not run\" aria-label=\"memory, "
                              "P = 2: not run\" href=\"#c1-" +
                              number(memory) + "\">?</a></td>"));
  EXPECT_THAT(text, HasSubstr("<td><a class=\"fails\" title=\"loss, P = 2: fails, margin 1.25\" aria-label=\"loss, P = "
                              "2: fails, margin 1.25\" href=\"#c1-" +
                              number(loss) + "\">\u2717</a></td>"));
  EXPECT_THAT(text, HasSubstr("<a href=\"#c0-" + number(memory) + "\">\u2713</a>"));
}

TEST(PageCells, AColumnIsHeadedByItsWorldSizeAndLeadsToItsCell) {
  Verdict verdict = one_grid();
  verdict.cells[1].world = 8;

  EXPECT_THAT(grids_of(verdict),
              HasSubstr("<th scope=\"col\"><a href=\"#c0\">1</a></th><th scope=\"col\"><a href=\"#c1\">8</a></th>"));
}

TEST(PageCells, ACheckThatOneCellAloneHasIsARowWithAHole) {
  Verdict verdict = one_grid();
  verdict.cells[1].checks.push_back(testing::holding_check("gpu_memory"));

  EXPECT_THAT(testing::bare(grids_of(verdict)),
              HasSubstr("<tr><th>gpu memory</th><td></td><td><a>\u2713</a></td></tr>"));
}

TEST(PageCells, ASecondCellOfOnePlaceStandsOnItsOwn) {
  Verdict verdict = one_grid();
  verdict.cells.push_back(verdict.cells[1]);
  verdict.cells[2].variant = "lengths 64x8";
  verdict.cells[2].id += "-long";

  const std::string text = grids_of(verdict);

  EXPECT_THAT(text, HasSubstr("<a href=\"#c2\">" + cell_title(verdict.cells[2]) + "</a>"));
  EXPECT_THAT(text, AllOf(HasSubstr("<details class=\"cell\" id=\"c2\">"), HasSubstr("Details of these 1 cell<")));
}

TEST(PageCells, RunsOfOneModelAreToldApartByName) {
  Verdict verdict = one_grid();
  EXPECT_THAT(grids_of(verdict), HasSubstr("<h3>stories260k, adamw</h3>"));

  verdict.cells[1].run = "long";
  EXPECT_THAT(grids_of(verdict), AllOf(HasSubstr("<h3>stories260k, adamw (stories260k)</h3>"),
                                       HasSubstr("<h3>stories260k, adamw (long)</h3>")));
}

TEST(PageCells, ACellThatDoesNotHoldIsNotFoldedAsGreen) {
  Verdict verdict = one_grid();
  verdict.cells[1].holds = false;  // whatever its checks say

  EXPECT_THAT(grids_of(verdict), HasSubstr("<span class=\"fail\">2 cells, 1 of them not green</span>"));
}

TEST(PageCells, WhatDoesNotHoldHasALookOfItsOwn) {
  const std::string style = testing::section_of(testing::rendered_page(one_grid()), "<style>", "</style>");

  for (const char* rule :
       {"\n.grid a.fails, .key i.fails, .grid a.crashed { background: #9c2f00;",
        "\n.grid a.crashed { background: #000;",
        "\n.grid a.not_run, .key i.not_run, .grid a.not_triggered, .key i.not_triggered, .grid a.unstable { ",
        "\n.grid a.optional { border-style: dotted;", "\n.grid a.not_applicable, .key i.not_applicable { "})
    EXPECT_THAT(style, HasSubstr(rule));
  EXPECT_THAT(style, HasSubstr("\n.band.bad { background: var(--bad-wash)"));
  EXPECT_THAT(style, HasSubstr("\n.fail { font-weight: 700; color: var(--bad); }"));
}

}  // namespace
}  // namespace plumbline
