// SPDX-License-Identifier: BSD-3-Clause
// What is drawn, and what is a sentence because nothing differs.
#include <gmock/gmock.h>

#include "reports/page.hpp"
#include "tests/reports/page_sections.hpp"
#include "tests/reports/sample_sweep.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string plots_of(const Verdict& verdict, const Evidence& evidence) {
  return testing::section_of(make_page(verdict, evidence), "<h2 id=\"plots\">", "<h2 id=\"not-run\">");
}

TEST(PagePlots, WhatIsEqualThroughoutIsASentence) {
  const Verdict verdict = testing::sample_verdict(2);
  Evidence evidence = testing::sample_evidence(verdict, 3);
  evidence.cells.at("stories260k-adamw-afab-w1").norms = {5, 0, 0, 0};

  const std::string text = plots_of(verdict, evidence);

  EXPECT_THAT(text, AllOf(HasSubstr("<li>Loss: all 60 values equal the reference&apos;s.</li>"),
                          HasSubstr("<li>Gradient norms: all 5 values equal the reference&apos;s.</li>"),
                          HasSubstr("<li>Activation memory: the peaks of all 38 ranks are what the reference&apos;s"),
                          Not(HasSubstr("<title>Loss")), Not(HasSubstr("<title>Gradient norms"))));
}

TEST(PagePlots, ALossThatDiffersIsDrawnWithTheCasesThatDiffer) {
  const Verdict verdict = testing::sample_verdict(1);
  Evidence evidence = testing::sample_evidence(verdict, 3);
  evidence.cells.at("stories260k-adamw-afab-w1").losses[2] += 0.5F;
  evidence.cells.at("stories260k-adamw-1f1b-w1").losses[1] -= 0.25F;

  const std::string text = plots_of(verdict, evidence);

  EXPECT_THAT(text, AllOf(HasSubstr("<li>Loss: 2 of 36 values differ from the reference&apos;s, the largest by 0.5."),
                          HasSubstr("<title>Loss, stories260k, adamw</title>"),
                          HasSubstr("stories260k, adamw, of 2 cases: above the loss"),
                          HasSubstr("2 of 18 values differ, the largest by 0.5."),
                          Not(HasSubstr("<title>Loss, stories260k, sgd"))));
}

TEST(PagePlots, NormsThatDifferAreCountedWithTheirRange) {
  const Verdict verdict = testing::sample_verdict(6);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  evidence.cells.at("untied-sgd-afab-w1").norms = {30, 2, -0.75, 0};
  evidence.cells.at("untied-sgd-1f1b-w2").norms = {30, 1, 0, 1e-6};
  evidence.cells.at("untied-sgd-1f1b-w3").norms = {30, 0, 0, 0};

  EXPECT_THAT(plots_of(verdict, evidence),
              HasSubstr("<li>Gradient norms: 3 of 90 values differ from the reference&apos;s, in 2 cases; the relative "
                        "differences are from -0.75 to 1e-06.</li>"));
}

TEST(PagePlots, MemoryIsATableOfTheLargestPeaks) {
  const Verdict verdict = testing::sample_verdict(2);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  evidence.references.at("stories260k-sgd").ranks[0].activation_bytes = 4096;
  auto& of_one = evidence.cells.at("stories260k-sgd-afab-w1").ranks;
  auto& of_two = evidence.cells.at("stories260k-sgd-afab-w2").ranks;
  of_one[0].activation_bytes = 2048;
  of_two[0].activation_bytes = 512;
  of_two[1].activation_bytes = 1024;
  for (const char* cell : {"stories260k-sgd-1f1b-w1", "stories260k-sgd-1f1b-w2"})
    for (RankMemory& rank : evidence.cells.at(cell).ranks) rank.activation_bytes = std::nullopt;

  const std::string text = testing::bare(plots_of(verdict, evidence));

  EXPECT_THAT(text, HasSubstr("<th>stories260k, sgd, on one device 4.00 KiB</th><th>P&nbsp;1</th><th>P&nbsp;2</th></tr>"
                              "</thead><tbody>\n<tr><th>afab</th><td>2.00 KiB</td><td>1.00 KiB</td></tr>\n</tbody>"));
}

TEST(PagePlots, PeaksThatWerePredictedOtherwiseAreCounted) {
  const Verdict verdict = testing::sample_verdict(2);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  *evidence.cells.at("stories260k-adamw-afab-w1").ranks[0].predicted_bytes += 1;

  EXPECT_THAT(plots_of(verdict, evidence), HasSubstr("the peaks of 37 of 38 ranks"));
}

TEST(PagePlots, OfReferencesThatAreNamedAlikeTheIdIsTold) {
  const Verdict verdict = testing::sample_verdict(1);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  evidence.references.emplace("zz", evidence.references.begin()->second);
  evidence.references.emplace("alone", evidence.references.begin()->second);
  evidence.reference_of[verdict.cells[1].id] = "zz";
  evidence.cells.at(verdict.cells[1].id).losses[0] += 1;

  EXPECT_THAT(plots_of(verdict, evidence), HasSubstr("<title>Loss, stories260k, adamw (zz)</title>"));
}

TEST(PagePlots, TheTimelineSaysWhatWasMeasuredAndPlanned) {
  const Verdict verdict = testing::sample_verdict(3);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  EXPECT_THAT(plots_of(verdict, evidence), Not(HasSubstr("The slowest case")));

  evidence.slowest = {"stories260k-adamw-1f1b-w3", testing::sample_timeline("1f1b", 3)};
  evidence.slowest->timeline.measured.makespan = 3600;
  evidence.slowest->timeline.measured.bubble_rate = 0.4;
  evidence.slowest->timeline.closed_form_rate = 1.0 / 3;
  EXPECT_THAT(plots_of(verdict, evidence),
              AllOf(HasSubstr("stories260k, adamw, 1f1b, P = 3, step 3 (the median of all but the first). Measured: "
                              "3,600 ms, bubble 40.0 %. Planned: 30 ms, bubble 20.0 %, from the medians over 4 steps"),
                    HasSubstr("bubble 33.3 %. The record lacks the number of cores.</figcaption>")));

  evidence.cells.at(evidence.slowest->id).manifest.json["machine"]["cores"] = 1;
  EXPECT_THAT(plots_of(verdict, evidence), HasSubstr("3 ranks shared 1 core: this measures"));
}

}  // namespace
}  // namespace plumbline
