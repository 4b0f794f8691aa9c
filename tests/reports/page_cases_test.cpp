// SPDX-License-Identifier: BSD-3-Clause
// The line of each case: what its checks compared, and what they say that is not usual.
#include <gmock/gmock.h>

#include "tests/reports/page_sections.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using testing::check_of;
using ::testing::HasSubstr;
using ::testing::Not;

std::string cases_of(const Verdict& verdict) {
  return testing::section_of(testing::rendered_page(verdict), "<h2 id=\"cells\">", "<h2 id=\"plots\">");
}

/// Of one case or reference.
std::string line_of(const Verdict& verdict, std::size_t cell) {
  return testing::section_of(cases_of(verdict), "<div id=\"c" + std::to_string(cell) + "\">", "</details>");
}

TEST(PageCases, TheHeadCountsWhatHoldsOfWhatApplies) {
  EXPECT_THAT(cases_of(testing::sample_verdict(1)), HasSubstr("<summary>afab, P = 1: 14 of 14 checks hold, 2.50 s<"));
}

TEST(PageCases, WhatHoldsAsUsualSaysWhatItComparedAndTheRestSaysMore) {
  Verdict verdict = testing::sample_verdict(1);
  CheckResult& loss = check_of(verdict.cells[0], "loss");
  loss.compared = {{"tensors", 12}};
  loss.inspected = {{"ranks", 1}};
  CheckResult& data = check_of(verdict.cells[0], "data");
  data.margin = 0.25;
  data.reason = "half of them";
  data.limit = "another limit";
  data.not_shown = {"the last step"};
  check_of(verdict.cells[0], "memory").outcome = Outcome::incomplete;
  check_of(verdict.cells[0], "memory").required = false;

  const std::string text = line_of(verdict, 0);

  EXPECT_THAT(text, HasSubstr("; loss: 12\u00A0tensors (inspected: 1\u00A0rank); boundaries: "));
  EXPECT_THAT(text, HasSubstr("</b> holds: half of them; limit: another limit; measured: 0 of 640 tensors differ; "
                              "margin: 0.25; not covered: the last step</p>"));
  EXPECT_THAT(text, HasSubstr("</b> incomplete (not required): every digest equals"));
  EXPECT_THAT(text, HasSubstr("Does not apply: repeatability.</p>"));
  EXPECT_THAT(text, HasSubstr("<code>" + verdict.cells[0].id + "</code>"));
}

TEST(PageCases, TheCommandIsSaidOnceAndWhereItIsAnother) {
  Verdict verdict = testing::sample_verdict(2);
  verdict.cells[3].command = "plumbline sweep elsewhere.toml --cells " + verdict.cells[3].id;

  const std::string text = cases_of(verdict);

  EXPECT_THAT(text,
              HasSubstr("put its id in place of CELL:</p><pre>plumbline sweep sweeps/default.toml --cells CELL</pre>"));
  EXPECT_THAT(text, Not(HasSubstr("--cells " + verdict.cells[2].id)));
  EXPECT_THAT(line_of(verdict, 3), HasSubstr("<pre>" + verdict.cells[3].command + "</pre>"));
}

TEST(PageCases, WhatDoesNotHoldLeadsToItsCard) {
  Verdict verdict = testing::sample_verdict(1);
  testing::break_check(verdict, 1, "loss");

  EXPECT_THAT(cases_of(verdict),
              AllOf(HasSubstr("<p class=\"cell\"><a href=\"#c1\">1f1b, P = 1</a>: <span class=\"fail\">does not hold"),
                    HasSubstr("<span class=\"fail\">6 cases, 1 does not hold</span>"),
                    HasSubstr("<span class=\"soft\">2 cases hold</span>"), Not(HasSubstr("<div id=\"c1\">"))));
}

TEST(PageCases, RunsOfOneModelAreToldApartByName) {
  Verdict verdict = testing::sample_verdict(2);
  EXPECT_THAT(cases_of(verdict), HasSubstr("<h3>stories260k, adamw</h3>"));

  verdict.cells[1].run = "long";
  EXPECT_THAT(cases_of(verdict),
              AllOf(HasSubstr("<h3>stories260k, adamw (long)</h3> <span class=\"soft\">1 case holds<"),
                    HasSubstr("<h3>stories260k, adamw (stories260k)</h3>"), HasSubstr("<h3>untied, adamw</h3>")));
}

TEST(PageCases, AReferenceThatShowsNothingOrBrokeOffDoesNotHold) {
  Verdict verdict = testing::sample_verdict(1);
  EXPECT_THAT(cases_of(verdict), HasSubstr("stories260k, adamw (stories260k-adamw): 1 of 1 check holds, 1.50 s"));

  verdict.references[0].checks[0].outcome = Outcome::incomplete;
  verdict.references[1].finished = false;
  EXPECT_THAT(cases_of(verdict), AllOf(HasSubstr("4 references, 2 do not hold"),
                                       HasSubstr("(stories260k-adamw): does not hold, 0 of 1 check hold, 1.50 s")));
  EXPECT_THAT(line_of(verdict, verdict.cells.size()), HasSubstr("class=\"fail\">bench: inspected: 2\u00A0ranks</b>"));
}

std::string usual_of(const Verdict& verdict) {
  return testing::section_of(testing::rendered_page(verdict), "id=\"checks\">", "<h2 id=\"cells\">");
}

TEST(PageCases, TheTableOfChecksTellsWhatMostCasesSay) {
  Verdict verdict = testing::sample_verdict(1);
  for (CellVerdict& cell : verdict.cells) check_of(cell, "loss").not_shown = {"one", "two"};

  const std::string text = usual_of(verdict);

  EXPECT_THAT(text, HasSubstr(R"(<th scope="row">loss</th><td>0 ULP: same microbatches)"));
  EXPECT_THAT(text, HasSubstr("at every cut<br><b>not covered:</b> one; two</td>"));
  EXPECT_THAT(text, HasSubstr("<br><b>where it does not apply:</b> the sweep asks for a second run of four named cells "
                              "only</td>"));
  EXPECT_THAT(line_of(verdict, 0), Not(HasSubstr("not covered:"))) << "not again in the cases";
}

TEST(PageCases, WhatChecksShowedIsOfThoseThatHoldAndOfTwoAtLeast) {
  Verdict verdict = testing::sample_verdict(1);
  for (std::size_t i = 0; i + 1 < verdict.cells.size(); ++i) {
    check_of(verdict.cells[i], "loss").outcome = Outcome::differs;
    check_of(verdict.cells[i], "loss").reason = "half of them differ";
  }
  check_of(verdict.cells.back(), "loss").reason = "one held";

  EXPECT_THAT(usual_of(verdict), AllOf(Not(HasSubstr("half of them differ")), Not(HasSubstr("one held"))));
}

}  // namespace
}  // namespace plumbline
