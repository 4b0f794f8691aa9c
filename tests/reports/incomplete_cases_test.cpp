// SPDX-License-Identifier: BSD-3-Clause
// A case that was not compared in full, and one where the user accepts that, in every output of a sweep.
#include <gmock/gmock.h>

#include "reports/annotations.hpp"
#include "reports/failing_cells.hpp"
#include "reports/headline.hpp"
#include "reports/junit.hpp"
#include "reports/results_csv.hpp"
#include "reports/summary_md.hpp"
#include "reports/words.hpp"
#include "support/csv.hpp"
#include "tests/markup_text.hpp"
#include "tests/reports/page_sections.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::section_of;
using ::testing::StartsWith;

const std::string sentence =
    "gradients, parameters were not compared from step 4 on: the clip coefficients of step 4 differ <by a rounding>";

/// The first of 12 cases is incomplete.
Verdict incomplete() {
  Verdict verdict = testing::sample_verdict(1);
  testing::leave_out(verdict, 0);
  return verdict;
}

/// The first of 12 cases holds, because the user accepts what is missing.
Verdict accepted() {
  Verdict verdict = testing::sample_verdict(1);
  testing::leave_out(verdict, 0, true);
  return verdict;
}

TEST(IncompleteCases, AreNeitherGreenNorADifferenceInTheLastLines) {
  const Verdict verdict = incomplete();

  EXPECT_EQ(headline(verdict), "Incomplete: 11 of 12 cases hold, 1 incomplete");
  EXPECT_EQ(verdict.counts.at("cases_incomplete"), 1);
  EXPECT_EQ(progress_words(verdict.cells[0]), "INCOMPLETE\n  " + sentence);
  EXPECT_EQ(case_state(verdict.cells[0]), "incomplete");
  EXPECT_THAT(failing_cells(verdict, 200),
              StartsWith("  stories260k-adamw-afab-w1\n    incomplete: nothing differs, but " + sentence +
                         "\n    to accept it, add to the sweep file: accept_missing = [\"gradients\", "
                         "\"parameters\"]\n"));
}

TEST(IncompleteCases, ComeAfterThoseThatDiffer) {
  Verdict verdict = incomplete();
  testing::break_check(verdict, 1, "loss");

  EXPECT_THAT(failing_cells(verdict, 200), StartsWith("  stories260k-adamw-1f1b-w1\n    the gradient that rank 2"));
  EXPECT_THAT(headline(verdict), StartsWith("Does not hold: 10 of 12 cases hold, 1 incomplete"));
}

TEST(IncompleteCases, HaveATableOfTheirOwnInTheSummary) {
  const std::string text = summary_md(incomplete());

  EXPECT_THAT(text, StartsWith("## ? Incomplete: 11 of 12 cases hold"));
  EXPECT_THAT(text, HasSubstr("### What was not compared in full\n\nNothing differs in these cases.\n\n"));
  EXPECT_THAT(text,
              HasSubstr("| stories260k-adamw-afab-w1 | gradients, parameters were not compared from step 4 on: "));
  EXPECT_THAT(text, HasSubstr("| `accept_missing = [\"gradients\", \"parameters\"]` |\n"));
  EXPECT_THAT(text, Not(HasSubstr("### What does not hold")));
}

TEST(IncompleteCases, FailInJUnitAtTheClaimsOwnTests) {
  const std::string xml = junit_xml(incomplete());

  EXPECT_EQ(testing::times_in(xml, "<failure type=\"incomplete\""), 3U) << "two claims and the verdict";
  EXPECT_EQ(testing::times_in(xml, "<failure "), 3U);
  EXPECT_THAT(xml,
              HasSubstr("name=\"gradients\" time=\"0\"><failure type=\"incomplete\" message=\"incomplete: compared "
                        "through step 4; from step 5 on: the clip coefficients"));
}

TEST(IncompleteCases, AreErrorsInAnnotations) {
  EXPECT_EQ(annotations(incomplete()), "::error title=stories260k-adamw-afab-w1 is incomplete::" + sentence +
                                           "%0ARun again: plumbline sweep sweeps/default.toml --cells "
                                           "stories260k-adamw-afab-w1\n");
}

TEST(IncompleteCases, AreInTheirRowsOfTheTable) {
  const testing::TemporaryFolder folder;
  const auto missing_in = [&](const Verdict& verdict) {
    const CsvTable table = read_csv(folder.file("results.csv", results_csv(verdict)));
    std::vector<std::string> texts;
    for (const CsvRow& row : table.rows) {
      const std::string from = row.cells[table.column("from_step")];
      if (from.empty()) continue;
      texts.push_back(row.cells[table.column("claim")] + " " + from + " " + row.cells[table.column("accepted")]);
    }
    return texts;
  };
  EXPECT_THAT(missing_in(incomplete()), ::testing::ElementsAre("gradients 5 false", "parameters 4 false"));
  EXPECT_THAT(missing_in(accepted()), ::testing::ElementsAre("gradients 5 true", "parameters 4 true"));
}

TEST(IncompleteCases, HaveASquareACardAndABandOfTheirOwn) {
  const std::string page = testing::rendered_page(incomplete());

  EXPECT_THAT(page, HasSubstr("<header class=\"band incomplete\">"));
  EXPECT_THAT(page,
              HasSubstr("<a class=\"incomplete\" href=\"#c0\" data-p=\"1\" title=\"stories260k, adamw, afab, P = 1: "
                        "incomplete\""));
  EXPECT_THAT(page, HasSubstr("id=\"failing\">What is incomplete <"));
  EXPECT_THAT(page, HasSubstr("<h2 id=\"failures\">Each gap</h2>"));
  const std::string card = section_of(page, "<h2 id=\"failures\">", "<h2 id=\"release\">");
  EXPECT_THAT(card,
              AllOf(HasSubstr("<details class=\"failure gap\""), HasSubstr("<span class=\"fail\">incomplete</span>"),
                    HasSubstr("<b>Nothing differs</b> in what was compared. gradients, parameters were not compared "
                              "from step 4 on: "),
                    HasSubstr("accept_missing = [&quot;gradients&quot;, &quot;parameters&quot;]"),
                    Not(HasSubstr("first divergence"))));
  EXPECT_THAT(section_of(page, "<h2 id=\"cells\">", "<h2 id=\"plots\">"),
              AllOf(HasSubstr("6 cases, 1 incomplete</span>"), HasSubstr("<span class=\"fail\">incomplete</span>")));
  EXPECT_THAT(section_of(page, "<h2 id=\"release\">", "<h2 id=\"cells\">"),
              HasSubstr("class=\"fail\">gradients</th><td class=\"num\">11</td><td class=\"num\">0</td><td "
                        "class=\"num\">1</td>"));
}

TEST(IncompleteCases, OfOneReasonAreOneCause) {
  Verdict verdict = incomplete();
  testing::leave_out(verdict, 1);
  testing::break_check(verdict, 2, "loss");

  const std::string list = section_of(testing::rendered_page(verdict), "id=\"failing\">", "id=\"overview\">");

  EXPECT_THAT(list, HasSubstr(">What does not hold, and what is incomplete <"));
  EXPECT_THAT(list, AllOf(HasSubstr("3 cases, 2 causes"), HasSubstr("2 cases with the same gap: gradients")));
  EXPECT_LT(list.find("stories260k, sgd, afab"), list.find("stories260k, adamw, afab")) << "what differs comes first";
}

TEST(IncompleteCases, ThatAreAcceptedHoldAndAreNamedEverywhere) {
  const Verdict verdict = accepted();
  const std::string page = testing::rendered_page(verdict), xml = junit_xml(verdict);

  EXPECT_TRUE(verdict.holds);
  EXPECT_EQ(headline(verdict), "Holds, not compared in full, as accepted: gradients, parameters: 12 of 12 cases");
  EXPECT_EQ(progress_words(verdict.cells[0]), "holds, accepted although " + sentence);
  EXPECT_THAT(summary_md(verdict), HasSubstr("### Accepted although not compared\n\n* stories260k-adamw-afab-w1: "
                                             "gradients, parameters were not compared from step 4 on: "));
  EXPECT_EQ(testing::times_in(xml, "<failure "), 0U);
  EXPECT_THAT(xml,
              HasSubstr("<property name=\"accepted\" value=\"gradients, parameters were not compared from step 4"));
  EXPECT_THAT(page, HasSubstr("<b>Accepted although</b> gradients, parameters were not compared from step 4 on: "));
  EXPECT_THAT(section_of(page, "<h2 id=\"release\">", "<h2 id=\"cells\">"),
              HasSubstr(">gradients</th><td class=\"num\">11</td><td class=\"num\">0</td><td class=\"num\">0</td><td "
                        "class=\"num\">1</td>"));
}

}  // namespace
}  // namespace plumbline
