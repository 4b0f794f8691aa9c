// SPDX-License-Identifier: BSD-3-Clause
#include "reports/page.hpp"

#include <gmock/gmock.h>

#include <set>

#include "reports/headline.hpp"
#include "reports/words.hpp"
#include "tests/reports/page_sections.hpp"
#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using testing::check_of;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::rendered_page;

TEST(Page, SaysThatValuesWereHeldWithinLimitsOnly) {
  Verdict verdict = testing::sample_verdict(2);
  verdict.comparison_mode = ComparisonMode::calibrated;

  const std::string page = rendered_page(verdict);

  EXPECT_THAT(page, HasSubstr("stayed within the calibrated limits around the single device; bits were not compared"));
  EXPECT_THAT(page, Not(HasSubstr("computed the same bits")));
  EXPECT_EQ(headline(verdict), "Holds: 20 of 20 cases (within calibrated limits, not in bits)");
}

TEST(Page, OfWhatDoesNotHoldTheCellsAreCounted) {
  Verdict verdict = testing::sample_verdict(2);
  testing::break_check(verdict, 1, "boundaries");
  EXPECT_EQ(claim(verdict), "1 case of 20 does not hold; the first divergence of each is below.");
  testing::break_check(verdict, 2, "loss");
  EXPECT_EQ(claim(verdict), "2 cases of 20 do not hold; the first divergence of each is below.");
}

TEST(Page, AHoldingVerdictStandsInTitleAndFirstScreen) {
  const std::string page = rendered_page(testing::sample_verdict(2));

  EXPECT_THAT(page, HasSubstr("<title>Holds: 20 of 20 cases - default - Plumbline</title>"));
  EXPECT_THAT(page, HasSubstr("</span>Holds</h1>"));
  EXPECT_THAT(page, HasSubstr("<b>20 / 20</b><span>cases hold</span>"));
  EXPECT_THAT(page, HasSubstr("<b>284 / 284</b><span>checks hold</span>")) << "bench of 4";
  EXPECT_THAT(page, HasSubstr("<b>179,200</b><span>tensors compared</span>")) << "20 x 14 x 640";
  EXPECT_THAT(page, HasSubstr("<b>14,336,000</b><span>elements compared</span>"));
  EXPECT_THAT(page, HasSubstr("<b>0 and 0</b><span>cases not run, checks incomplete</span>"));
  EXPECT_THAT(page, HasSubstr("computed the same bits as the single device"));
  EXPECT_THAT(page, HasSubstr("Every planned case was run."));
  EXPECT_THAT(page, Not(HasSubstr("What does not hold")));
}

TEST(Page, ASelectionOfCellsSaysSoInTitleAndFirstScreen) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.cells.resize(3);
  verdict.selection = {3, 123, {}};
  sum_up(verdict);

  const std::string page = rendered_page(verdict);

  EXPECT_THAT(page, HasSubstr("<title>Holds in part: 3 of 123 cases - default - Plumbline</title>"));
  EXPECT_THAT(page, HasSubstr("</span>Holds in part</h1>"));
  EXPECT_THAT(page, HasSubstr("<b>3 / 3</b><span>cases hold, of 123 in the sweep</span>"));
  EXPECT_THAT(page, HasSubstr("These are 3 of the sweep&apos;s 123 cases; the others were not requested."));
  EXPECT_THAT(page, Not(HasSubstr("Every planned case was run")));
}

TEST(Page, OneCheckClaimsNoBitsAndCountsTheOthersAsNotRun) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.cells.resize(1);
  verdict.references.clear();
  verdict.selection = {1, 1, {"completion"}};
  for (auto& check : verdict.cells[0].checks) {
    if (check.name == "completion") continue;
    check = CheckResult{};
    check.name = "not asked";
    check.required = false;
  }
  sum_up(verdict);

  const std::string page = rendered_page(verdict);

  EXPECT_THAT(page, HasSubstr("<title>Holds in part: 1 of 1 case, 1 of 15 checks - default - Plumbline</title>"));
  EXPECT_THAT(page, Not(HasSubstr("same bits")));
  EXPECT_THAT(page, HasSubstr("In 1 case completion holds. It is not shown that the runs computed the same: loss, "
                              "boundaries, gradients, gradient_norm, parameters were not requested"));
  EXPECT_THAT(page, HasSubstr("<b>1 / 1</b><span>checks hold, 14 not requested</span>"));
  EXPECT_THAT(page, HasSubstr("<b>0 and 14</b><span>cases not run, checks incomplete</span>"));
}

/// Without the table of what the checks claim.
std::string without_claims_of_checks(const std::string& page) {
  const auto begin = page.find("id=\"checks\">"), end = page.find("<h2 id=\"cells\">");
  return page.substr(0, begin) + page.substr(end);
}

TEST(Page, BitsAreNotClaimedWhereOneComparisonIsMissingInOneCell) {
  for (const char* name : {"loss", "boundaries", "gradients", "gradient_norm", "parameters"}) {
    Verdict verdict = testing::sample_verdict(1);
    check_of(verdict.cells[2], name).outcome = Outcome::incomplete;
    check_of(verdict.cells[2], name).required = false;

    const std::string page = rendered_page(verdict);

    EXPECT_THAT(without_claims_of_checks(page), Not(HasSubstr("same bits"))) << name;
    EXPECT_THAT(page, HasSubstr(std::string("computed the same: ") + name + " was not requested or could not be run"))
        << name;
    EXPECT_THAT(page, Not(HasSubstr("Every planned case was run"))) << name;
  }
}

TEST(Page, AnUnstableCellIsRedAndSaysSo) {
  Verdict verdict = testing::sample_verdict(1);
  testing::break_check(verdict, 0, "loss");
  verdict.cells[0].second_run = SecondRun{SecondRun::Outcome::holds, "every check holds"};

  const std::string page = rendered_page(verdict);

  EXPECT_THAT(page, HasSubstr("<title>Does not hold: 11 of 12 cases hold, 1 unstable"));
}

TEST(Page, WhatDataCouldNotShowIsAWarningWhereNobodyRequiredIt) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.references[0].checks[0].outcome = Outcome::incomplete;
  verdict.references[0].checks[0].reason = "no microbatch is fully masked";

  EXPECT_THAT(rendered_page(verdict), Not(HasSubstr("Not covered by these data"))) << "required: it stands in the way";
  verdict.references[0].checks[0].required = false;
  EXPECT_THAT(rendered_page(verdict), HasSubstr("<li>reference stories260k-adamw: no microbatch is fully masked</li>"));
}

TEST(Page, WhatWasNotRunIsInTheFirstScreenAndInItsSection) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.holds = false;
  verdict.not_run = {"first", "second", "third", "fourth", "fifth: no mpirun", "sixth"};

  const std::string page = rendered_page(verdict);

  EXPECT_THAT(page, HasSubstr("<title>Does not hold: 12 of 12 cases hold, 6 not run - default - Plumbline</title>"));
  const auto cells = page.find("id=\"overview\"");
  EXPECT_LT(page.find("<b>Not run: 6</b>"), cells);
  EXPECT_LT(page.find("<li>fourth</li>"), cells);
  EXPECT_LT(page.find("and 2 more"), cells);
  EXPECT_GT(page.find("<li>fifth: no mpirun</li>"), page.find("id=\"not-run\""));
}

TEST(Page, CellsThatTheirScheduleCannotHaveAreListedAndChangeNoVerdict) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.not_applicable = {"untied-dualpipe-v-w8: it needs <16> microbatches"};

  const std::string page = rendered_page(verdict);

  EXPECT_THAT(page, HasSubstr("<title>Holds: 12 of 12 cases - default - Plumbline</title>"));
  EXPECT_THAT(page, HasSubstr("<details class=\"printed\"><summary>Left out of the plan, and why: 1</summary>"));
  EXPECT_GT(page.find("it needs &lt;16&gt; microbatches"), page.find("id=\"not-run\""));
}

TEST(Page, HostileTextStaysText) {
  Verdict verdict = testing::sample_verdict(1);
  testing::break_check(verdict, 0, "loss");
  for (auto& cell : verdict.cells) {
    cell.model = "<script>alert(1)</script>";
    cell.schedule = "'\"><b>";
    cell.command = "x && y > z";
  }
  check_of(verdict.cells[0], "loss").reason = "</td>{{title}}{{{mark}}}";
  verdict.name = "</title><script>";
  verdict.not_run = {"<img src=x onerror=alert(1)>"};
  verdict.machine["machine"]["<b>cpu"] = "a\x01z";

  const std::string page = make_page(verdict, testing::sample_evidence(verdict, 2));

  const testing::Markup markup = testing::parse_markup(page, true);
  EXPECT_EQ(markup.error, "");
  EXPECT_THAT(markup.elements, Each(::testing::AllOf(::testing::Ne("script"), ::testing::Ne("img"))));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_THAT(page, HasSubstr("{{title}}{{{mark}}}")) << "a reason is no template";
}

TEST(Page, StandsAloneWithUniqueIdsAndNoDeadLinks) {
  Verdict verdict = testing::sample_verdict(3);
  testing::break_check(verdict, 1, "gradients");

  const testing::Markup markup = testing::parse_markup(make_page(verdict, testing::sample_evidence(verdict, 3)), true);

  EXPECT_EQ(markup.error, "");
  const std::set<std::string> ids(markup.ids.begin(), markup.ids.end());
  std::set<std::string> records;  // of the cases
  for (const CellVerdict& cell : verdict.cells) records.insert("cells/" + cell.id + "/");
  EXPECT_EQ(ids.size(), markup.ids.size()) << "an id stands twice";
  EXPECT_GT(markup.references.size(), 28u);
  for (const auto& reference : markup.references) {
    EXPECT_TRUE(records.contains(reference) || ids.contains(reference.substr(1)))
        << reference << ": the page needs nothing but itself";
  }
}

TEST(Page, RecordsThatCouldNotBeReadAreNamed) {
  const Verdict verdict = testing::sample_verdict(1);
  Evidence evidence;
  evidence.missing = {"cells/a: steps.csv is truncated at line 3"};

  const std::string page = make_page(verdict, evidence);

  EXPECT_THAT(page, HasSubstr("<li>cells/a: steps.csv is truncated at line 3</li>"));
  EXPECT_THAT(page, HasSubstr("there is nothing to compare here"));
}

TEST(Page, ALargeSweepStaysBelowTwoMebibytes) {
  Verdict verdict = testing::sample_verdict(8);
  ASSERT_GE(verdict.cells.size(), 68u);
  for (std::size_t i = 0; i < verdict.cells.size(); ++i) testing::break_check(verdict, i, "boundaries");

  const std::string page = make_page(verdict, testing::sample_evidence(verdict, 5));

  EXPECT_LT(page.size(), std::size_t{2} << 20);
  EXPECT_THAT(page, HasSubstr("<summary>67 more like these</summary>"));
}

TEST(Page, TheFirstScreenSaysOfWhatItSpeaks) {
  Verdict verdict = testing::sample_verdict(1);

  std::string page = rendered_page(verdict);
  EXPECT_EQ(testing::fact_in(page, "Commit"), "0123456789ab (clean)");
  EXPECT_EQ(testing::fact_in(page, "Sweep"), "default, 2026-11-21T12:00:00Z");
  EXPECT_EQ(testing::fact_in(page, "Machine"), "AMD EPYC 9R14, AVX512, 2 cores, LibTorch 2.11.0");
  EXPECT_EQ(testing::fact_in(page, "Selection"), "12 of 12 cases, all checks");

  verdict.harness["commit"] = "0123456789ab-dirty";
  verdict.machine["versions"]["commit"] = "ba9876543210";
  verdict.selection = {12, 40, {"loss"}};
  verdict.harness["behind_head"] = 1;
  page = rendered_page(verdict);
  EXPECT_EQ(testing::fact_in(page, "Commit"),
            "trainers ba9876543210 (clean), judge 0123456789ab with uncommitted changes, 1 commit "
            "behind the checkout&apos;s HEAD");
  EXPECT_EQ(testing::fact_in(page, "Selection"), "12 of 40 cases, checks loss");
  verdict.harness["commit"] = "";
  verdict.machine["versions"].erase("commit");
  EXPECT_EQ(testing::fact_in(rendered_page(verdict), "Commit"), "unknown: built outside a checkout");
}

TEST(Page, TablesTellWhatTheirHeadersHeadAndNothingIsScripted) {
  const std::string page = rendered_page(testing::sample_verdict(1));

  EXPECT_EQ(testing::times_in(page, "<th>"), 0U) << "a header without scope";
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("all:unset"))) << "it takes the focus ring away";
  EXPECT_THAT(page, HasSubstr("<nav class=\"contents\" aria-label=\"Contents\">"));
}

TEST(Page, NoCellIsNotMistakenForSuccess) {
  Verdict verdict;
  verdict.not_run = {"everything: mpirun is missing"};

  const std::string page = make_page(verdict, Evidence{});

  EXPECT_THAT(page, HasSubstr("<title>Does not hold: 0 of 0 cases hold"));
  EXPECT_THAT(page, HasSubstr("No case was run, so nothing was shown."));
}

}  // namespace
}  // namespace plumbline
