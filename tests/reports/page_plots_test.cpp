// SPDX-License-Identifier: BSD-3-Clause
// What the page draws, and what it says in a sentence because nothing differs.
#include <gmock/gmock.h>

#include "tests/reports/page_sections.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string plots_of(const Verdict& verdict, const Evidence& evidence) {
  return testing::section_of(make_page(verdict, evidence), "<h2 id=\"plots\">", "<h2 id=\"not-run\">");
}

TEST(PagePlots, EqualValuesAreASentence) {
  const Verdict verdict = testing::sample_verdict(2);
  Evidence evidence = testing::sample_evidence(verdict, 3);
  evidence.cells.at("stories260k-adamw-afab-w1").ratios = {5, {{"w", 1, 1}}};

  const std::string text = plots_of(verdict, evidence);

  EXPECT_THAT(text, AllOf(HasSubstr("<li>Loss: all 60 values equal the reference&apos;s.</li>"),
                          HasSubstr("<li>Gradient norms: all 5 values equal the reference&apos;s.</li>"),
                          HasSubstr("<li>Activation memory: the peaks of all 38 ranks are what the reference&apos;s"),
                          Not(HasSubstr("<title>Loss")), Not(HasSubstr("<title>Gradient norms"))));
}

TEST(PagePlots, DrawsALossForTheCasesInWhichItDiffers) {
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

TEST(PagePlots, NamesLossesByCaseAndGroupsEqualOnes) {
  const Verdict verdict = testing::sample_verdict(6);
  Evidence evidence = testing::sample_evidence(verdict, 3);
  const auto add = [&](const std::string& schedule, int world, float by) {
    evidence.cells.at("untied-sgd-" + schedule + "-w" + std::to_string(world)).losses[1] += by;
  };
  add("afab", 2, 0.5F);
  add("1f1b", 2, 0.25F);
  for (int world = 3; world <= 5; ++world) add("1f1b", world, NAN);
  evidence.cells.at("untied-sgd-1f1b-w6").losses.erase(2);

  EXPECT_THAT(plots_of(verdict, evidence),
              AllOf(HasSubstr(">reference, and 6 cases equal to it</text>"), HasSubstr(">afab, P = 2</text>"),
                    HasSubstr(">1f1b, P = 2</text>"), HasSubstr(">1f1b, P = 3 and 2 cases with the same losses</text>"),
                    Not(HasSubstr(">P = ")), HasSubstr("untied, sgd, of 5 cases: above the loss")))
      << "one case lacks a step, so it is not counted as equal";

  for (int world = 1; world <= 6; ++world) {
    add("afab", world, static_cast<float>(world));
    add("1f1b", world, static_cast<float>(10 * world));
  }
  EXPECT_THAT(plots_of(verdict, evidence),
              AllOf(HasSubstr("untied, sgd, of the first 8 of 10 lines of 12 cases: above the loss"),
                    HasSubstr("title>Loss, untied, sgd</title>")));
}

TEST(PagePlots, DrawsAFewDifferentNormsAndCountsAll) {
  const Verdict verdict = testing::sample_verdict(6);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  for (int world = 1; world <= 6; ++world) {
    for (const char* schedule : {"afab-w", "1f1b-w"})
      evidence.cells.at("untied-sgd-" + (schedule + std::to_string(world))).ratios = {3, {{"w", 1, 1 + 1e-6}}};
  }

  EXPECT_THAT(plots_of(verdict, evidence),
              AllOf(HasSubstr("Gradient norms: different from the reference&apos;s in 12 cases."),
                    HasSubstr("untied, sgd, of the first 8 of 12 cases: the norm"), HasSubstr(">1e-06</text>")));
}

TEST(PagePlots, EachModelHasOneMemoryFigureOnOneScale) {
  const Verdict verdict = testing::sample_verdict(2);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  std::string text = plots_of(verdict, evidence);
  EXPECT_THAT(text,
              AllOf(HasSubstr("<title>Peak activations, stories260k, adamw and sgd</title>"),
                    HasSubstr("<title>Peak activations, untied, adamw and sgd</title>"), Not(HasSubstr("balance"))))
      << "optimizers with the same memory share a figure";

  for (const char* reference : {"stories260k-sgd", "untied-sgd"})
    *evidence.references.at(reference).ranks[0].activation_bytes += 1;
  *evidence.cells.at("stories260k-adamw-afab-w1").ranks[0].predicted_bytes += 1;
  text = plots_of(verdict, evidence);
  EXPECT_THAT(text, AllOf(HasSubstr("<title>Peak activations, stories260k, adamw</title>"),
                          HasSubstr("<title>Peak activations, stories260k, sgd</title>"),
                          HasSubstr("the peaks of 37 of 38 ranks")));
  EXPECT_THAT(plots_of(testing::sample_verdict(1), testing::sample_evidence(testing::sample_verdict(1), 2)),
              Not(HasSubstr("<title>Peak activations")))
      << "one world size makes no curve";
}

TEST(PagePlots, ReferencesWithTheSameNameShowTheirIds) {
  const Verdict verdict = testing::sample_verdict(1);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  evidence.references.emplace("zz", evidence.references.begin()->second);
  evidence.references.emplace("alone", evidence.references.begin()->second);
  evidence.reference_of[verdict.cells[1].id] = "zz";
  evidence.cells.at(verdict.cells[1].id).losses[0] += 1;

  EXPECT_THAT(plots_of(verdict, evidence), HasSubstr("<title>Loss, stories260k, adamw (zz)</title>"));
}

TEST(PagePlots, TimelineDescribesMeasuredAndPlannedTimes) {
  const Verdict verdict = testing::sample_verdict(3);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  EXPECT_THAT(plots_of(verdict, evidence), Not(HasSubstr("The slowest case")));

  evidence.slowest = {"stories260k-adamw-1f1b-w3", testing::sample_timeline("1f1b", 3)};
  evidence.slowest->timeline.measured.makespan = 3600;
  evidence.slowest->timeline.measured.bubble_rate = 0.4;
  evidence.slowest->timeline.closed_form_rate = 1.0 / 3;
  EXPECT_THAT(
      plots_of(verdict, evidence),
      AllOf(
          HasSubstr("stories260k, adamw, 1f1b, P = 3, step 3 (of median length; the first step is left out). Measured: "
                    "3,600 ms, bubble 40.0 %. Planned, from the median times over 4 steps of each stage"),
          HasSubstr("messages taking no time: 30 ms, bubble 20.0 %. The bubble is the idle share"),
          HasSubstr("bubble 33.3 %. The record lacks the number of cores.</figcaption>")));

  Json& cores = evidence.cells.at(evidence.slowest->id).manifest.json["machine"]["cores"];
  cores = "many";
  EXPECT_THAT(plots_of(verdict, evidence), HasSubstr("The record lacks the number of cores."));
  cores = 1;
  EXPECT_THAT(plots_of(verdict, evidence), HasSubstr("3 ranks shared 1 core: this measures"));
}

}  // namespace
}  // namespace plumbline
