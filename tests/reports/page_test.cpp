#include "reports/page.hpp"

#include <gmock/gmock.h>

#include <cctype>
#include <regex>
#include <set>

#include "reports/words.hpp"
#include "tests/reports/sample_sweep.hpp"
#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using testing::check_of;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string page_of(const Verdict& verdict, const Evidence& evidence) {
  return make_page(verdict, evidence);
}
/// No plots: what is looked at lies in the page's own text.
std::string page_of(const Verdict& verdict) {
  return page_of(verdict, testing::sample_evidence(verdict, 2));
}

TEST(Page, SaysThatValuesWereHeldWithinLimitsOnly) {
  Verdict verdict = testing::sample_verdict(2);
  verdict.tier = Tier::calibrated;

  const std::string page = page_of(verdict);

  EXPECT_THAT(page, HasSubstr("stayed within the calibrated limits around the single device; bits were not compared"));
  EXPECT_THAT(page, Not(HasSubstr("computed the same bits")));
}

TEST(Page, AHoldingVerdictStandsInTitleAndFirstScreen) {
  const std::string page = page_of(testing::sample_verdict(2));

  EXPECT_THAT(page, HasSubstr("<title>Holds: 20 of 20 cells - default - Plumbline</title>"));
  EXPECT_THAT(page, HasSubstr("</span>Holds</h1>"));
  EXPECT_THAT(page, HasSubstr("<b>20 / 20</b><span>cells hold</span>"));
  EXPECT_THAT(page,
              HasSubstr("<b>284 / 284</b><span>checks hold (4 of them of references, 20 more do not apply)</span>"))
      << "bench of 4";
  EXPECT_THAT(page, HasSubstr("<b>179,200</b><span>tensors compared</span>")) << "20 x 14 x 640";
  EXPECT_THAT(page, HasSubstr("<b>14,336,000</b><span>elements compared</span>"));
  EXPECT_THAT(page, HasSubstr("<b>0</b><span>cells not run</span>"));
  EXPECT_THAT(page, HasSubstr("<b>0</b><span>checks not run or not triggered</span>"));
  EXPECT_THAT(page, HasSubstr("computed the same bits as the single device"));
  EXPECT_THAT(page, HasSubstr("Everything that was planned was run."));
  EXPECT_THAT(page, Not(HasSubstr("What does not hold")));
}

/// The first number behind `before`, its thousands put together.
std::int64_t number_behind(const std::string& page, const std::string& before) {
  const auto at = page.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  std::string digits;
  for (std::size_t i = at + before.size(); std::isdigit(page[i]) != 0 || page[i] == ','; ++i) {
    if (page[i] != ',') digits += page[i];
  }
  return std::stoll(digits);
}

TEST(Page, ChecksThatHoldAreTheSquaresOfTheGridsAndThoseOfReferences) {
  Verdict verdict = testing::sample_verdict(2);
  verdict.references.at(0).checks.push_back(verdict.references.at(0).checks.at(0));

  const std::string page = page_of(verdict);

  const auto all = number_behind(page, "<span>cells hold</span></li><li><b>"),
             of_references = number_behind(page, "<span>checks hold ("),
             squares = number_behind(page, outcome_words(Outcome::holds) + " (");
  EXPECT_EQ(of_references, 5);
  EXPECT_EQ(all, squares + of_references);
}

TEST(Page, ASelectionOfCellsSaysSoInTitleAndFirstScreen) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.cells.resize(3);
  verdict.selection = {3, 123, {}};
  sum_up(verdict);

  const std::string page = page_of(verdict);

  EXPECT_THAT(page, HasSubstr("<title>Holds in part: 3 of 123 cells - default - Plumbline</title>"));
  EXPECT_THAT(page, HasSubstr("</span>Holds in part</h1>"));
  EXPECT_THAT(page, HasSubstr("<b>3 / 3</b><span>cells hold, of 123 in the sweep</span>"));
  EXPECT_THAT(page, HasSubstr("These are 3 of the sweep&apos;s 123 cells; the others were not asked for."));
  EXPECT_THAT(page, Not(HasSubstr("Everything that was planned was run")));
  EXPECT_THAT(page, Not(HasSubstr("Nothing was left out")));
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
    check.requirement = Requirement::told;
  }
  sum_up(verdict);

  const std::string page = page_of(verdict);

  EXPECT_THAT(page, HasSubstr("<title>Holds in part: 1 of 1 cell, 1 of 15 checks - default - Plumbline</title>"));
  EXPECT_THAT(page, Not(HasSubstr("same bits")));
  EXPECT_THAT(page, HasSubstr("In 1 cell completion holds. That the runs computed the same is not shown: loss, "
                              "boundaries, gradients, gradient_norm, parameters were not asked for"));
  EXPECT_THAT(page, HasSubstr("<b>1 / 1</b><span>checks hold (14 were not asked for)</span>"));
  EXPECT_THAT(page, HasSubstr("<b>14</b><span>checks not run or not triggered</span>"));
}

/// Without what a check is said to show where it holds, beside its name.
std::string without_claims_of_checks(const std::string& page) {
  static const std::regex claim(R"( title="Where it holds: [^"]*")");
  return std::regex_replace(page, claim, "");
}

TEST(Page, EachCheckSaysWhatItClaims) {
  const std::string page = page_of(testing::sample_verdict(1));

  EXPECT_THAT(page, HasSubstr(R"(<th title="Where it holds: the loss of every microbatch)"));
  EXPECT_THAT(page, Not(HasSubstr(R"(title="Where it holds: ")")));
}

TEST(Page, BitsAreNotClaimedWhereOneComparisonIsMissingInOneCell) {
  for (const char* name : {"loss", "boundaries", "gradients", "gradient_norm", "parameters"}) {
    Verdict verdict = testing::sample_verdict(1);
    check_of(verdict.cells[2], name).outcome = Outcome::not_run;
    check_of(verdict.cells[2], name).requirement = Requirement::told;

    const std::string page = page_of(verdict);

    EXPECT_THAT(without_claims_of_checks(page), Not(HasSubstr("same bits"))) << name;
    EXPECT_THAT(page, HasSubstr(std::string("is not shown: ") + name + " was not asked for or could not be run"))
        << name;
    EXPECT_THAT(page, Not(HasSubstr("Everything that was planned was run"))) << name;
  }
}

TEST(Page, AnUnstableCellIsRedAndSaysSo) {
  Verdict verdict = testing::sample_verdict(1);
  testing::break_check(verdict, 0, "loss");
  verdict.cells[0].second_run = SecondRun{SecondRun::Outcome::holds, "every check holds"};

  const std::string page = page_of(verdict);

  EXPECT_THAT(page, HasSubstr("<title>Does not hold: 11 of 12 cells, 1 unstable"));
  EXPECT_THAT(page, HasSubstr("it held. The cell is unstable: every check holds"));
}

TEST(Page, WhatDataCouldNotShowIsAWarningWhereNobodyRequiredIt) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.references[0].checks[0].outcome = Outcome::not_triggered;
  verdict.references[0].checks[0].reason = "no microbatch is fully masked";

  EXPECT_THAT(page_of(verdict), Not(HasSubstr("What these data could not show"))) << "required: it stands in the way";
  verdict.references[0].checks[0].requirement = Requirement::told;
  EXPECT_THAT(page_of(verdict), HasSubstr("<li>reference stories260k-adamw: no microbatch is fully masked</li>"));
}

TEST(Page, AFailureShowsItsFirstDivergenceAndTheCommand) {
  Verdict verdict = testing::sample_verdict(2);
  testing::break_check(verdict, 3, "boundaries");

  const std::string page = page_of(verdict);

  EXPECT_THAT(page, HasSubstr("<title>Does not hold: 19 of 20 cells"));
  EXPECT_THAT(page, HasSubstr("What does not hold"));
  EXPECT_THAT(page, HasSubstr("the gradient that rank 2 received for microbatch 3 is not the one that rank 3 sent"));
  EXPECT_THAT(page, HasSubstr("<td>R2</td><td>1</td><td>3</td><td>2</td><td>2</td><td>backward</td><td>layers.3</td>"
                              "<td class=\"value\">e9ae472f8e0534b67486a13c09695146</td>"
                              "<td class=\"value\">77b3d71dc009b6ec2f49a7bfef15fa25</td><td>-</td>"));
  EXPECT_THAT(page, HasSubstr("<pre>plumbline sweep sweeps/default.toml --cells stories260k-adamw-1f1b-w2</pre>"));
  EXPECT_THAT(page, HasSubstr("<a class=\"fails\""));
}

TEST(Page, WhatWasNotRunIsInTheFirstScreenAndInItsSection) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.holds = false;
  verdict.not_run = {"first", "second", "third", "fourth", "fifth: no mpirun", "sixth"};

  const std::string page = page_of(verdict);

  EXPECT_THAT(page, HasSubstr("<title>Does not hold: 12 of 12 cells, 6 not run - default - Plumbline</title>"));
  const auto cells = page.find("id=\"cells\"");
  EXPECT_LT(page.find("<b>Not run: 6</b>"), cells);
  EXPECT_LT(page.find("<li>fourth</li>"), cells);
  EXPECT_LT(page.find("and 2 more"), cells);
  EXPECT_GT(page.find("<li>fifth: no mpirun</li>"), page.find("id=\"not-run\""));
}

TEST(Page, CellsThatTheirScheduleCannotHaveAreListedAndChangeNoVerdict) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.not_applicable = {"untied-dualpipe-v-w8: it needs <16> microbatches"};

  const std::string page = page_of(verdict);

  EXPECT_THAT(page, HasSubstr("<title>Holds: 12 of 12 cells - default - Plumbline</title>"));
  EXPECT_THAT(page, HasSubstr("their schedule cannot have: 1</summary>"));
  EXPECT_GT(page.find("it needs &lt;16&gt; microbatches"), page.find("id=\"not-run\""));
}

TEST(Page, ChecksThatDoNotApplyAreCountedWithTheirReason) {
  const std::string page = page_of(testing::sample_verdict(2));

  EXPECT_THAT(page, HasSubstr("<td>repeatability</td><td>not applicable</td><td class=\"num\">20</td>"
                              "<td>the sweep asks for a second run of four named cells only</td>"));
}

TEST(Page, ARequiredCheckNotTriggeredIsAmongWhatDoesNotHold) {
  Verdict verdict = testing::sample_verdict(1);
  check_of(verdict.cells[0], "gradient_norm").outcome = Outcome::not_triggered;
  check_of(verdict.cells[0], "gradient_norm").reason = "no step's norm passed the limit";
  verdict.cells[0].holds = verdict.holds = false;

  const std::string page = page_of(verdict);

  EXPECT_THAT(page, HasSubstr("<b>gradient_norm</b> not triggered: no step&apos;s norm passed the limit"));
}

TEST(Page, BalancesStandInATableOfTheirOwn) {
  const std::string page = page_of(testing::sample_verdict(4));

  const auto own = page.find("id=\"balances\"");
  EXPECT_GT(page.find("balance [2, 0, 0, 3]"), own);
  EXPECT_THAT(page, HasSubstr("Details of these 4 cells"));
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

  const std::string page = page_of(verdict, testing::sample_evidence(verdict, 2));

  const testing::Markup markup = testing::parse_markup(page, true);
  EXPECT_EQ(markup.error, "");
  EXPECT_THAT(markup.elements, Each(::testing::AllOf(::testing::Ne("script"), ::testing::Ne("img"))));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_THAT(page, HasSubstr("{{title}}{{{mark}}}")) << "a reason is no template";
}

TEST(Page, StandsAloneWithUniqueIdsAndNoDeadLinks) {
  Verdict verdict = testing::sample_verdict(3);
  testing::break_check(verdict, 1, "gradients");

  const testing::Markup markup = testing::parse_markup(page_of(verdict, testing::sample_evidence(verdict, 3)), true);

  EXPECT_EQ(markup.error, "");
  const std::set<std::string> ids(markup.ids.begin(), markup.ids.end());
  EXPECT_EQ(ids.size(), markup.ids.size()) << "an id stands twice";
  EXPECT_GT(markup.references.size(), 100u);
  EXPECT_THAT(markup.references, Each(StartsWith("#"))) << "the page needs nothing but itself";
  for (const auto& reference : markup.references) EXPECT_TRUE(ids.contains(reference.substr(1))) << reference;
}

TEST(Page, TheSameInputGivesTheSameBytes) {
  Verdict verdict = testing::sample_verdict(2);
  testing::break_check(verdict, 0, "memory");
  const Evidence evidence = testing::sample_evidence(verdict, 3);

  EXPECT_EQ(page_of(verdict, evidence), page_of(verdict, evidence));
}

TEST(Page, PlotsStandBesideTheirNumbers) {
  const Verdict verdict = testing::sample_verdict(2);

  const std::string page = page_of(verdict, testing::sample_evidence(verdict, 3));

  EXPECT_THAT(page, HasSubstr("<title>Loss, stories260k, adamw</title>"));
  EXPECT_THAT(page, HasSubstr("All 24 differences are exactly 0.")) << "3 steps of 8 cells";
  EXPECT_THAT(page, HasSubstr("<td>1f1b, P = 2</td><td class=\"num\">1</td>"));
  EXPECT_EQ(testing::parse_markup(page, true).error, "");
}

TEST(Page, PlotsFollowTheVerdictAndLeaveOutReferencesWithoutCells) {
  const Verdict verdict = testing::sample_verdict(1);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  evidence.references.emplace("alone", evidence.references.begin()->second);
  evidence.references.emplace("zz", evidence.references.begin()->second);
  evidence.reference_of[verdict.cells[0].id] = "zz";

  const std::string page = page_of(verdict, evidence);

  const auto plots = page.find("id=\"plots\"");
  const auto first = page.find("<h3>stories260k, adamw</h3>", plots);
  const auto second = page.find("<h3>stories260k, adamw (stories260k-adamw)</h3>", plots);
  EXPECT_LT(first, second);
  EXPECT_LT(second, page.find("<h3>untied, sgd</h3>", plots));
  EXPECT_EQ(page.find("<h3>alone", plots), std::string::npos);
}

TEST(Page, TheFirstScreenIsNotFloodedByCounts) {
  Verdict verdict = testing::sample_verdict(1);
  for (int i = 0; i < 40; ++i) verdict.counts["kind_" + std::to_string(i)] = 1000 + i;

  const std::string page = page_of(verdict);

  EXPECT_THAT(page, HasSubstr("1,039\u00A0kind 39"));
  EXPECT_THAT(page, Not(HasSubstr("<b>1,039</b>")));
}

TEST(Page, ALossThatDiffersIsCounted) {
  const Verdict verdict = testing::sample_verdict(1);
  Evidence evidence = testing::sample_evidence(verdict, 3);
  evidence.cells.at("untied-sgd-afab-w1").losses[2] += 0.5F;

  const std::string page = page_of(verdict, evidence);

  EXPECT_THAT(page, HasSubstr("1 of 6 losses differ, the largest by 0.5."));
}

TEST(Page, RecordsThatCouldNotBeReadAreNamed) {
  const Verdict verdict = testing::sample_verdict(1);
  Evidence evidence;
  evidence.missing = {"cells/a: steps.csv is truncated at line 3"};

  const std::string page = page_of(verdict, evidence);

  EXPECT_THAT(page, HasSubstr("<li>cells/a: steps.csv is truncated at line 3</li>"));
  EXPECT_THAT(page, HasSubstr("there is nothing to draw"));
}

TEST(Page, ALargeSweepStaysBelowTwoMebibytes) {
  Verdict verdict = testing::sample_verdict(8);
  ASSERT_GE(verdict.cells.size(), 68u);
  for (std::size_t i = 0; i < verdict.cells.size(); ++i) testing::break_check(verdict, i, "boundaries");

  const std::string page = page_of(verdict, testing::sample_evidence(verdict, 5));

  EXPECT_LT(page.size(), std::size_t{2} << 20);
  EXPECT_THAT(page, HasSubstr("56 more cells that do not hold"));
}

TEST(Page, NoCellIsNotMistakenForSuccess) {
  Verdict verdict;
  verdict.not_run = {"everything: mpirun is missing"};

  const std::string page = page_of(verdict, Evidence{});

  EXPECT_THAT(page, HasSubstr("<title>Does not hold: 0 of 0 cells"));
  EXPECT_THAT(page, HasSubstr("No cell was run, so nothing was shown."));
}

}  // namespace
}  // namespace plumbline
