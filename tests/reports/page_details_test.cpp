// What the details say of each check of a cell, and of a reference.
#include <gmock/gmock.h>

#include "reports/page.hpp"
#include "tests/reports/page_sections.hpp"
#include "tests/reports/sample_sweep.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using testing::check_of;
using ::testing::HasSubstr;
using ::testing::Not;

/// Of one cell.
std::string details_of(const Verdict& verdict, std::size_t cell) {
  return testing::section_of(testing::rendered_page(verdict),
                             "<details class=\"cell\" id=\"c" + std::to_string(cell) + "\">", "</details>");
}

TEST(PageDetails, TheHeadCountsWhatHoldsOfWhatApplies) {
  Verdict verdict = testing::sample_verdict(1);
  EXPECT_THAT(details_of(verdict, 0), HasSubstr("P = 1: holds <span class=\"soft\">(14 of 14 checks "
                                                "hold, 1 not applicable, 2.50 s)</span>"));

  testing::break_check(verdict, 0, "loss");
  EXPECT_THAT(details_of(verdict, 0), HasSubstr("<b class=\"fail\">does not hold</b> <span class=\"soft\">(13 of 14 "
                                                "checks hold, 1 not applicable, 2.50 s)</span>"));
  verdict.cells[0].second_run = SecondRun{SecondRun::Outcome::holds, ""};
  EXPECT_THAT(details_of(verdict, 0), HasSubstr("<b class=\"fail\">unstable</b>"));
}

TEST(PageDetails, ARowTellsCountsMarginPlaceAndWhatWasNotShown) {
  Verdict verdict = testing::sample_verdict(1);
  testing::break_check(verdict, 0, "loss");
  CheckResult& loss = check_of(verdict.cells[0], "loss");
  loss.compared = {{"tensors", 12}};
  loss.looked_at = {{"ranks", 3}};
  loss.measured = "0.5 of the norm";
  loss.margin = 1.25;
  loss.not_shown = {"the last step"};
  check_of(verdict.cells[0], "memory").outcome = Outcome::not_run;
  check_of(verdict.cells[0], "memory").requirement = Requirement::told;

  const std::string text = details_of(verdict, 0);

  EXPECT_THAT(text, HasSubstr("<td>loss</td><td class=\"fail\">fails</td><td>12\u00A0tensors</td><td>3\u00A0ranks</td>"
                              "<td>12 of 640 tensors differ from the reference&apos;s; measured: 0.5 of the norm; "
                              "margin: 1.25<br><b>not shown:</b> the last step<br><b>first at:</b> step 1, microbatch "
                              "3, stage 2, rank 2, backward, layers.3</td>"));
  EXPECT_THAT(text, HasSubstr("<td>memory</td><td>not run (told, not required)</td>"));
  EXPECT_THAT(text, HasSubstr("<td>data</td><td>holds</td>"));
}

TEST(PageDetails, WhatWasMeasuredIsToldOfWhatHoldsWhereItHasAMargin) {
  Verdict verdict = testing::sample_verdict(1);
  const auto row = [&] { return testing::section_of(details_of(verdict, 0), "<td>loss</td>", "</tr>"); };
  EXPECT_THAT(row(), Not(HasSubstr("measured: ")));

  check_of(verdict.cells[0], "loss").margin = 0.5;
  EXPECT_THAT(row(), HasSubstr("measured: 0 of 640 tensors differ; margin: 0.5"));
}

TEST(PageDetails, WhatWasNotRunIsNeverAmongWhatDoesNotApply) {
  Verdict verdict = testing::sample_verdict(1);
  for (CellVerdict& cell : verdict.cells) {
    CheckResult& memory = check_of(cell, "memory");
    memory = CheckResult{};
    memory.name = "memory";
  }

  EXPECT_THAT(details_of(verdict, 0), HasSubstr("<td>memory</td><td class=\"fail\">not run</td>"));
}

TEST(PageDetails, TheTableOfChecksTellsWhatMostCouldNotShowAndWhereTheyDoNotApply) {
  Verdict verdict = testing::sample_verdict(1);
  for (CellVerdict& cell : verdict.cells) check_of(cell, "loss").not_shown = {"one", "two"};

  const std::string text =
      testing::section_of(testing::rendered_page(verdict), "<h2 id=\"checks\">", "<h2 id=\"cells\">");

  EXPECT_THAT(text, HasSubstr("at every cut<br><b>not shown:</b> one; two</td>"));
  EXPECT_THAT(text, HasSubstr("<br><b>where it does not apply:</b> the sweep asks for a second run of four named cells "
                              "only</td>"));
  EXPECT_THAT(details_of(verdict, 0), Not(HasSubstr("not shown:"))) << "not again in the cells";
}

TEST(PageDetails, AReferenceThatShowsNothingOrBrokeOffDoesNotHold) {
  Verdict verdict = testing::sample_verdict(1);
  const std::size_t first = verdict.cells.size();
  EXPECT_THAT(details_of(verdict, first),
              HasSubstr("stories260k, adamw (stories260k-adamw): nothing in the way <span class=\"soft\">(1 of 1 check "
                        "hold, 1.50 s)"));

  verdict.references[0].checks[0].outcome = Outcome::not_triggered;
  verdict.references[1].finished = false;
  EXPECT_THAT(details_of(verdict, first), HasSubstr("<b class=\"fail\">does not hold</b>"));
  EXPECT_THAT(details_of(verdict, first + 1), HasSubstr("<b class=\"fail\">does not hold</b>"));
  EXPECT_THAT(details_of(verdict, first + 2), HasSubstr("nothing in the way"));
}

TEST(PageDetails, TheReasonOfWhatFailsIsToldThoughOthersHoldByTheSameWords) {
  Verdict verdict = testing::sample_verdict(1);
  check_of(verdict.cells[0], "loss").outcome = Outcome::fails;

  EXPECT_THAT(details_of(verdict, 0), HasSubstr("<td>every digest equals the reference&apos;s, forward and backward, "
                                                "at every cut; measured: 0 of 640 tensors differ</td>"));
}

TEST(PageDetails, WhatChecksShowedIsOfThoseThatHoldAndOfTwoAtLeast) {
  const auto usual = [](const Verdict& verdict) {
    return testing::section_of(testing::rendered_page(verdict), "<h2 id=\"checks\">", "<h2 id=\"cells\">");
  };
  Verdict verdict = testing::sample_verdict(1);
  for (std::size_t i = 0; i + 1 < verdict.cells.size(); ++i) {
    check_of(verdict.cells[i], "loss").outcome = Outcome::fails;
    check_of(verdict.cells[i], "loss").reason = "half of them differ";
  }
  check_of(verdict.cells.back(), "loss").reason = "one held";

  EXPECT_THAT(usual(verdict), AllOf(Not(HasSubstr("half of them differ")), Not(HasSubstr("one held"))));
}

}  // namespace
}  // namespace plumbline
