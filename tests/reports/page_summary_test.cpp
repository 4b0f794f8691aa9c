// SPDX-License-Identifier: BSD-3-Clause
// The first screen of a page that is not simply green, and what its counts count.
#include <gmock/gmock.h>

#include "reports/headline.hpp"
#include "tests/reports/page_sections.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using testing::check_of;
using ::testing::HasSubstr;
using ::testing::Not;

/// Of 20 cells one fails, two lack a check, one had nothing to trigger one, and one more was not run.
Verdict mixed_verdict() {
  Verdict verdict = testing::sample_verdict(2);
  testing::break_check(verdict, 1, "loss");
  for (const std::size_t cell : {2U, 3U, 4U}) {
    CheckResult& check = check_of(verdict.cells[cell], "memory");
    check.outcome = cell == 4 ? Outcome::incomplete : Outcome::incomplete;
    verdict.cells[cell].holds = false;
  }
  verdict.not_run = {"untied-w8: no mpirun"};
  sum_up(verdict);
  return verdict;
}

TEST(PageSummary, ItsBandAndItsSignAreThoseOfTheVerdict) {
  EXPECT_THAT(testing::rendered_page(testing::sample_verdict(1)),
              AllOf(HasSubstr("<header class=\"band\">"), HasSubstr(">\u2713</span>Holds</h1>")));
  EXPECT_THAT(testing::rendered_page(mixed_verdict()),
              AllOf(HasSubstr("<header class=\"band bad\">"), HasSubstr(">\u2717</span>Does not hold</h1>")));
}

TEST(PageSummary, TheTilesCountWhatDoesNotHoldApart) {
  const std::string page = testing::rendered_page(mixed_verdict());

  EXPECT_THAT(page, HasSubstr("<b>16 / 20</b><span>cases hold</span>"));
  EXPECT_THAT(page, HasSubstr("<b>280 / 284</b><span>checks hold</span>"));
  EXPECT_THAT(page, HasSubstr("<b>1 and 3</b><span>cases not run, checks incomplete</span>"));
}

TEST(PageSummary, AllCountsAreBelow) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.counts = {{"cells", 1039}};
  verdict.compared = {{"bytes", 186'122'240}, {"tensors", 5}};
  verdict.inspected = {{"ranks", 7}};

  const std::string page = testing::rendered_page(verdict);

  EXPECT_THAT(page, Not(HasSubstr("<b>1,039</b>"))) << "not in the first screen";
  EXPECT_THAT(page, HasSubstr("1,039\u00A0cells. Compared: 186,122,240\u00A0bytes, 5\u00A0tensors. "
                              "Inspected: 7\u00A0ranks."));
}

TEST(PageSummary, ThatAllWasRunIsSaidOnlyWhereItWas) {
  const std::string all = "Every planned case was run";
  Verdict verdict = testing::sample_verdict(1);
  EXPECT_THAT(testing::rendered_page(verdict), HasSubstr(all));

  verdict.not_run = {"untied-w8: no mpirun"};
  EXPECT_THAT(testing::rendered_page(verdict), Not(HasSubstr(all))) << "a cell was not";
  EXPECT_THAT(testing::rendered_page(Verdict{}), Not(HasSubstr(all))) << "there is no cell";
}

TEST(PageSummary, ChecksWithoutAResultStandWithTheirReasonAndThoseThatFailDoNot) {
  Verdict verdict = mixed_verdict();
  for (const std::size_t cell : {2U, 3U, 4U}) check_of(verdict.cells[cell], "memory").reason = "no column";
  check_of(verdict.cells[3], "memory").required = false;

  const std::string rows =
      testing::bare(testing::section_of(testing::rendered_page(verdict), "<h2 id=\"not-run\">", "<h2 id=\"machine\">"));

  EXPECT_THAT(rows,
              HasSubstr("<tr><td>memory</td><td>incomplete (not required)</td><td>1</td><td>no column</td></tr>"));
  EXPECT_THAT(rows, HasSubstr("<tr><td>memory</td><td>incomplete</td><td>2</td><td>no column</td></tr>"));
  EXPECT_THAT(rows, HasSubstr("<tr><td>repeatability</td><td>does not apply</td><td>20</td>"
                              "<td>the sweep asks for a second run of four named cells only</td></tr>"));
  EXPECT_THAT(rows, Not(HasSubstr("<td>loss</td>")));
}

TEST(PageSummary, WhatIsAlwaysMadeCountsAsAskedFor) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.cells.resize(1);
  verdict.references.clear();
  verdict.selection = {1, 1, {"loss"}};
  auto& checks = verdict.cells[0].checks;
  checks = {testing::holding_check("completion"), testing::holding_check("as_asked"), testing::holding_check("loss"),
            testing::holding_check("memory")};
  checks.back().outcome = Outcome::incomplete;
  checks.back().required = false;

  EXPECT_EQ(headline(verdict), "Holds in part: 1 of 1 case, 3 of 4 checks");
  EXPECT_THAT(testing::rendered_page(verdict), HasSubstr("<b>3 / 3</b><span>checks hold, 1 not requested</span>"));
}

TEST(Headline, NamesWhatTheRecorderCouldNotSee) {
  Verdict verdict = testing::sample_verdict(1);
  ASSERT_TRUE(verdict.holds);
  const auto cells = std::to_string(verdict.cells.size());
  verdict.cells[0].not_recorded = {{"candidate", "receives", "torch 2.16.0 hides it", "2.16.0"},
                                   {"reference", "receives", "torch 2.16.0 hides it", "2.16.0"}};
  CheckResult& boundaries = check_of(verdict.cells[0], "boundaries");
  boundaries.outcome = Outcome::incomplete;
  boundaries.required = false;
  sum_up(verdict);

  EXPECT_EQ(headline(verdict),
            "Holds, but receives were not recorded (torch 2.16.0): " + cells + " of " + cells + " cases");
  EXPECT_THAT(claim(verdict), AllOf(HasSubstr("computed the same: boundaries was"),
                                    HasSubstr("were not judged: receives were not recorded (torch 2.16.0).")));
  EXPECT_THAT(testing::rendered_page(verdict),
              AllOf(HasSubstr("<title>Holds, but receives were not recorded (torch 2.16.0): "),
                    HasSubstr("</span>Holds, but receives were not recorded (torch 2.16.0)</h1>")));
  verdict.cells[0].not_recorded.push_back({"candidate", "schedule", "", ""});
  verdict.selection.cells = 1, verdict.selection.of_cells = 99;
  EXPECT_THAT(headline(verdict), HasSubstr("Holds in part, but schedule was not recorded, receives were not recorded "
                                           "(torch 2.16.0): "));
  verdict.holds = false;
  EXPECT_THAT(headline(verdict), Not(HasSubstr("recorded")));
}

TEST(Headline, WhereEveryCellHoldsAndTheVerdictDoesNotNoBitsAreClaimed) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.holds = false;

  EXPECT_EQ(claim(verdict), "Every case that ran holds, but not all that was required does: see below.");
}

TEST(PageFacts, LimitsAreNotToldAsBits) {
  Verdict verdict = testing::sample_verdict(1);
  EXPECT_EQ(testing::fact_in(testing::rendered_page(verdict), "Mode"), "bits: equal bit for bit");

  verdict.comparison_mode = ComparisonMode::calibrated;
  EXPECT_EQ(testing::fact_in(testing::rendered_page(verdict), "Mode"),
            "calibrated: within measured limits, not in bits");
}

TEST(PageFacts, TheMachineIsToldAsTheTrainersNameIt) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.machine = {{"device", "cuda"},
                     {"machine", {{"cpu_model", "EPYC"}, {"aten_capability", "AVX2"}, {"cores", 4}}},
                     {"versions", {{"libtorch", "2.12"}}}};

  EXPECT_EQ(testing::fact_in(testing::rendered_page(verdict), "Machine"), "cuda, EPYC, AVX2, 4 cores, LibTorch 2.12");
}

}  // namespace
}  // namespace plumbline
