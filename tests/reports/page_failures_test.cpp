// The card of a cell that does not hold: its reasons, its place, its causes.
#include <gmock/gmock.h>

#include "reports/page.hpp"
#include "reports/words.hpp"
#include "tests/reports/page_sections.hpp"
#include "tests/reports/sample_sweep.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

CheckResult told_check(const std::string& name, Outcome outcome, const std::string& reason,
                       std::optional<std::int64_t> step = std::nullopt) {
  CheckResult check;
  check.name = name;
  check.outcome = outcome;
  check.reason = reason;
  if (step) check.first_divergence.emplace().step = *step;
  return check;
}

/// The first cell has these checks and does not hold.
Verdict failing_with(const std::vector<CheckResult>& checks) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.cells[0].checks = checks;
  verdict.cells[0].holds = verdict.holds = false;
  return verdict;
}

std::string failures_of(const Verdict& verdict, const Evidence& evidence) {
  return testing::section_of(make_page(verdict, evidence), "<h2 id=\"failures\">", "<h2 id=\"release\">");
}
std::string failures_of(const Verdict& verdict) {
  return failures_of(verdict, testing::sample_evidence(verdict, 2));
}

TEST(PageFailures, ChecksThatSayTheSameAreOneLineAndOthersTheirOwn) {
  const Verdict verdict =
      failing_with({told_check("audit", Outcome::holds, "one"), told_check("loss", Outcome::fails, "one"),
                    told_check("gradients", Outcome::fails, "one"), told_check("parameters", Outcome::fails, "another"),
                    told_check("memory", Outcome::not_run, "another"), told_check("data", Outcome::fails, "a place", 1),
                    told_check("census", Outcome::fails, "a place", 2)});

  EXPECT_THAT(testing::bare(failures_of(verdict)),
              HasSubstr("<ul><li><b>loss, gradients</b> fails: one</li><li><b>parameters</b> fails: another</li>"
                        "<li><b>memory</b> not run: another</li><li><b>data</b> fails: a place <span>(step 1)</span>"
                        "</li><li><b>census</b> fails: a place <span>(step 2)</span></li></ul>"));
}

TEST(PageFailures, WhatCameOfTheSecondRunIsTold) {
  Verdict verdict = failing_with({told_check("loss", Outcome::fails, "one")});
  EXPECT_THAT(failures_of(verdict), Not(HasSubstr("Run once more")));

  verdict.cells[0].second_run = SecondRun{SecondRun::Outcome::fails_again, "loss fails"};
  EXPECT_THAT(failures_of(verdict), HasSubstr("<b>Run once more:</b> it fails again: loss fails</p>"));
  verdict.cells[0].second_run = SecondRun{SecondRun::Outcome::not_done, "stopped by hand"};
  EXPECT_THAT(failures_of(verdict), HasSubstr("<b>Run once more:</b> this was not done: stopped by hand</p>"));
}

TEST(PageFailures, ADivergenceBeforeTheFirstStepAndWithoutWordsHasItsPlaceAndItsSize) {
  Verdict verdict = testing::sample_verdict(1);
  testing::break_check(verdict, 0, "parameters");
  FirstDivergence& divergence = *verdict.cells[0].first_divergence;
  divergence.step = -1;
  divergence.microbatch.reset();
  divergence.words.clear();
  divergence.size = "l2 4 times";

  const std::string text = testing::bare(failures_of(verdict));

  EXPECT_THAT(text,
              HasSubstr("<b>First divergence:</b> before the first step, stage 2, rank 2, backward, layers.3</p>"));
  EXPECT_THAT(text, HasSubstr("<td>R2</td><td>initial</td><td>-</td><td>2</td>"));
  EXPECT_THAT(text, HasSubstr("<td>77b3d71dc009b6ec2f49a7bfef15fa25</td><td>l2 4 times</td></tr>"));
}

TEST(PageFailures, WhatTheValuesLookLikeIsToldWithItsCause) {
  Verdict verdict = failing_with({told_check("gradients", Outcome::fails, "one")});
  ValueFindings& values = verdict.cells[0].values.emplace();
  values.step = 3;
  values.tensor = "gradient/w";
  values.ulps = {{0, 0, 5}, {1, 1, 2}};
  values.fingerprints = {{"not_scaled", "all 8 times as large", "ratio 8 in 12 tensors", "the loss is not scaled"}};

  std::string text = testing::bare(failures_of(verdict));
  EXPECT_THAT(text, HasSubstr("<b>What it looks like:</b> (step 3 of the second run"));
  EXPECT_THAT(text, HasSubstr("<li><b>all 8 times as large.</b> ratio 8 in 12 tensors. It suggests: the loss is not "
                              "scaled. <span>[not_scaled]</span></li>"));
  EXPECT_THAT(text, HasSubstr("Elements of gradient/w by how many units in the last place they are off. Logarithmic."));

  values.not_numbers = 1;
  values.fingerprints.push_back({"summed_twice", "twice", "ratio 2", "a sum is made twice"});
  text = failures_of(verdict);
  EXPECT_THAT(text, HasSubstr("<b>What it looks like; several causes fit:</b>"));
  EXPECT_THAT(text, HasSubstr("they are off; 1 element more are NaN in one of the two. Logarithmic."));

  values.fingerprints.clear();
  values.ulps.clear();
  values.step = -1;
  values.otherwise = "no known cause fits: ratios from 0.9 to 1.1";
  text = failures_of(verdict);
  EXPECT_THAT(text, HasSubstr("(step initial of the second run"));
  EXPECT_THAT(text, HasSubstr("<li>no known cause fits: ratios from 0.9 to 1.1</li>"));
  EXPECT_THAT(text, Not(HasSubstr("Logarithmic")));
}

TEST(PageFailures, OfARunThatBrokeOffNoEnvironmentIsCompared) {
  Verdict verdict = testing::sample_verdict(1);
  testing::break_check(verdict, 0, "completion");
  EXPECT_THAT(failures_of(verdict), HasSubstr("tell the same device, versions, machine and flags"));

  verdict.cells[0].first_divergence->rung = "completion";
  EXPECT_THAT(failures_of(verdict), Not(HasSubstr("tell the same device, versions, machine and flags")));
}

TEST(PageFailures, RatiosThatAreAllOneAreNotDrawn) {
  Verdict verdict = testing::sample_verdict(1);
  testing::break_check(verdict, 0, "loss");
  Evidence evidence = testing::sample_evidence(verdict, 2);
  evidence.cells.at(verdict.cells[0].id).ratios = {1, {{"w", 1, 1}}};
  const std::string heading = "<h4>Gradient norms over the reference&apos;s</h4>";

  EXPECT_THAT(failures_of(verdict, evidence), Not(HasSubstr(heading)));
  evidence.cells.at(verdict.cells[0].id).ratios = {1, {{"w", 1, 2}}};
  EXPECT_THAT(failures_of(verdict, evidence), HasSubstr(heading));
}

TEST(PageFailures, BehindTheTwelfthCellEachIsARowWithItsPlaceAndItsCommand) {
  Verdict verdict = testing::sample_verdict(2);
  for (std::size_t i = 0; i < 14; ++i) testing::break_check(verdict, i, "loss");
  verdict.cells[13].second_run = SecondRun{SecondRun::Outcome::holds, ""};

  const std::string text = testing::bare(failures_of(verdict));

  const auto row = [&](std::size_t cell, const std::string& what) {
    return "<tr><td>" + cell_title(verdict.cells[cell]) + "</td><td>" + what + "</td><td><code>" +
           verdict.cells[cell].command + "</code></td></tr>";
  };
  const std::string place = "loss fails; first at step 1, microbatch 3, stage 2, rank 2, backward, layers.3";
  EXPECT_THAT(text, AllOf(HasSubstr("2 more cells that do not hold"), HasSubstr(row(12, place)),
                          HasSubstr(row(13, "unstable: " + place)), Not(HasSubstr(row(11, place)))));
}

}  // namespace
}  // namespace plumbline
