// SPDX-License-Identifier: BSD-3-Clause
// What does not hold: the list of the first screen, and the card of each case with its reasons, its place, its causes.
#include <gmock/gmock.h>

#include "reports/words.hpp"
#include "tests/reports/page_sections.hpp"

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

/// The first case has these checks and does not hold.
Verdict failing_with(const std::vector<CheckResult>& checks) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.cells[0].checks = checks;
  verdict.cells[0].holds = verdict.holds = false;
  return verdict;
}

std::string cards_of(const Verdict& verdict, const Evidence& evidence) {
  return testing::section_of(make_page(verdict, evidence), "<h2 id=\"failures\">", "<h2 id=\"release\">");
}
std::string cards_of(const Verdict& verdict) {
  return cards_of(verdict, testing::sample_evidence(verdict, 2));
}
std::string list_of(const Verdict& verdict) {
  return testing::bare(testing::section_of(testing::rendered_page(verdict), "id=\"failing\">", "id=\"overview\">"));
}

TEST(FailureList, EachCaseIsALineWithItsPlaceAndWhy) {
  Verdict verdict = testing::sample_verdict(1);
  testing::break_check(verdict, 1, "boundaries");
  verdict.cells[1].first_divergence->words = "the bits differ as sent";
  verdict.cells[2].holds = false;
  testing::check_of(verdict.cells[2], "gradient_norm").outcome = Outcome::incomplete;
  testing::check_of(verdict.cells[2], "gradient_norm").reason = "no step's norm passed the limit";

  EXPECT_THAT(
      list_of(verdict),
      AllOf(HasSubstr("2 cases, 2 causes"),
            HasSubstr(
                "<li><a>stories260k, adamw, 1f1b, P = 1</a><span>step 1</span><span>microbatch 3</span>"
                "<span>stage 2</span><span>boundary layers.3 backward</span><span>the bits differ as sent</span></li>"),
            HasSubstr(
                "<a>stories260k, sgd, afab, P = 1</a><span></span><span></span><span></span><span></span>"
                "<span>incomplete: gradient_norm was not compared: no step&apos;s norm passed the limit</span></li>")));
}

TEST(FailureList, CasesOfOneCauseStandTogetherTheWorstFirst) {
  Verdict verdict = testing::sample_verdict(3);
  for (const std::size_t cell : {0U, 1U, 2U, 3U, 4U, 5U, 6U}) testing::break_check(verdict, cell, "loss");
  verdict.cells[0].first_divergence->step = 2;
  verdict.cells[6].first_divergence->level = "completion";

  const std::string text = list_of(verdict);

  EXPECT_THAT(text, HasSubstr("7 cases, 3 causes"));
  EXPECT_THAT(text, HasSubstr("<p>5 cases with the same first divergence: step 1, boundary layers.3 backward</p>"));
  EXPECT_THAT(text, HasSubstr("<summary>4 more like these</summary>"));
  const auto crashed = text.find(cell_title(verdict.cells[6])),
             alike = text.find("5 cases with the same first divergence");
  EXPECT_LT(crashed, alike) << "what broke off is first";
  EXPECT_LT(alike, text.find(cell_title(verdict.cells[0])));
}

TEST(FailureCard, AFirstDivergenceIsToldOnceWithItsDigestsShortenedAndWholeOnDemand) {
  Verdict verdict = testing::sample_verdict(2);
  testing::break_check(verdict, 3, "boundaries");
  verdict.cells[3].first_divergence->size = "l2 4 times";

  const std::string cards = cards_of(verdict);

  EXPECT_THAT(
      testing::bare(cards),
      AllOf(HasSubstr("<span>step 1, microbatch 3, stage 2, rank 2, boundary layers.3 backward</span>"),
            HasSubstr("<dt>first divergence</dt><dd>the gradient that rank 2 received for microbatch 3 is not the one"),
            HasSubstr("<dt>expected</dt><dd><details><summary><code>e9ae472f...</code></summary><code>"
                      "e9ae472f8e0534b67486a13c09695146</code></details>"),
            HasSubstr("<dt>got</dt><dd><details><summary><code>77b3d71d...</code>"),
            HasSubstr("<dt>size</dt><dd>l2 4 times</dd>"),
            HasSubstr("<li><b>boundaries</b> differs: 12 of 640 tensors differ from the reference&apos;s</li>")));
  EXPECT_EQ(cards.find("the gradient that rank 2"), cards.rfind("the gradient that rank 2"));
  verdict.cells[3].first_divergence->words =
      "step 1, microbatch 3, stage 2, rank 2, boundary layers.3: the bits differ";
  EXPECT_THAT(testing::bare(cards_of(verdict)), HasSubstr("<dt>first divergence</dt><dd>the bits differ</dd>"));
  EXPECT_THAT(cards, AllOf(HasSubstr("<details class=\"failure\" open=\"\">"), HasSubstr("<div id=\"c3\">"),
                           HasSubstr("<pre>" + verdict.cells[3].command + "</pre>")));
}

TEST(FailureCard, ChecksThatSayTheSameAreOneLineAndOthersTheirOwn) {
  const Verdict verdict = failing_with(
      {told_check("audit", Outcome::holds, "one"), told_check("loss", Outcome::differs, "one"),
       told_check("gradients", Outcome::differs, "one"), told_check("parameters", Outcome::differs, "another"),
       told_check("memory", Outcome::incomplete, "another"), told_check("data", Outcome::differs, "a place", 1),
       told_check("census", Outcome::differs, "a place", 2)});

  const std::string cards = testing::bare(cards_of(verdict));

  EXPECT_THAT(cards,
              HasSubstr("<ul><li><b>loss, gradients</b> differs: one</li><li><b>parameters</b> differs: another</li>"
                        "<li><b>memory</b> incomplete: another</li><li><b>data</b> differs: a place <span>(step 1)"
                        "</span></li><li><b>census</b> differs: a place <span>(step 2)</span></li></ul>"));
  EXPECT_THAT(cards, HasSubstr("<b>audit</b> holds: one")) << "the rest is below";
}

TEST(FailureCard, WhatCameOfTheSecondRunIsTold) {
  Verdict verdict = failing_with({told_check("loss", Outcome::differs, "one")});
  EXPECT_THAT(cards_of(verdict), Not(HasSubstr("Second run")));

  for (const auto& [outcome, words] : {std::pair{SecondRun::Outcome::fails_again, "it failed again: so"},
                                       {SecondRun::Outcome::holds, "it held. The case is unstable: so"},
                                       {SecondRun::Outcome::not_done, "it was not repeated: so"}}) {
    verdict.cells[0].second_run = SecondRun{outcome, "so"};
    EXPECT_THAT(cards_of(verdict), HasSubstr("<b>Second run:</b> " + std::string(words) + "</p>"));
  }
}

TEST(FailureCard, EnvironmentRecordAndOutputStandBesideIt) {
  Verdict verdict = testing::sample_verdict(1);
  testing::break_check(verdict, 0, "gradients");
  const std::string id = verdict.cells[0].id, same = "had the same device, versions, machine and flags";
  Evidence evidence = testing::sample_evidence(verdict, 2);
  EXPECT_THAT(
      cards_of(verdict, evidence),
      AllOf(HasSubstr(same), HasSubstr("<a href=\"cells/" + id + "/\">its record<"), Not(HasSubstr("its output"))));

  evidence.launches[id] = {"mpirun -n 1 'a b' <run.toml>", "rank 0: <killed>"};
  evidence.cells.at(id).environment = {{"versions/libtorch", "2.10.0", "2.11.0"}};
  EXPECT_THAT(cards_of(verdict, evidence),
              AllOf(HasSubstr("<th scope=\"row\">versions/libtorch</th><td>2.10.0</td><td>2.11.0</td>"),
                    HasSubstr("What was run:</p><pre>mpirun -n 1 &apos;a b&apos; &lt;run.toml&gt;</pre>"),
                    HasSubstr("<pre class=\"said\">rank 0: &lt;killed&gt;</pre>"),
                    HasSubstr("<a href=\"launches/" + id + "/stderr.txt\">its output<"), Not(HasSubstr(same))));

  verdict.cells[0].first_divergence->level = "completion";
  EXPECT_THAT(cards_of(verdict), Not(HasSubstr(same))) << "of a run that broke off nothing is compared";
}

}  // namespace
}  // namespace plumbline
