// What stands beside the plots in numbers, and what of the cells is drawn.
#include <gmock/gmock.h>

#include <algorithm>

#include "reports/memory_plot.hpp"
#include "reports/page.hpp"
#include "tests/reports/page_sections.hpp"
#include "tests/reports/sample_sweep.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Of the first reference: stories260k, adamw.
std::string first_plot_of(const Verdict& verdict, const Evidence& evidence) {
  return testing::section_of(make_page(verdict, evidence), "<h2 id=\"plots\">", "<h3>stories260k, sgd</h3>");
}

TEST(PagePlots, TheLargestDifferenceIsThatOfAllRunsAndEachRunsStandsInItsRow) {
  const Verdict verdict = testing::sample_verdict(1);
  Evidence evidence = testing::sample_evidence(verdict, 3);
  evidence.cells.at("stories260k-adamw-afab-w1").losses[2] += 0.5F;
  evidence.cells.at("stories260k-adamw-1f1b-w1").losses[1] -= 0.25F;

  const std::string text = first_plot_of(verdict, evidence);

  EXPECT_THAT(text, HasSubstr("2 of 18 losses differ, the largest by 0.5."));
  EXPECT_THAT(testing::bare(text),
              AllOf(HasSubstr("<th>losses compared</th><th>differing</th><th>largest difference</th>"),
                    HasSubstr("<tr><td>afab, P = 1</td><td>3</td><td>1</td><td>0.5</td></tr>"),
                    HasSubstr("<tr><td>1f1b, P = 1</td><td>3</td><td>1</td><td>0.25</td></tr>"),
                    HasSubstr("<tr><td>1f1b, P = 3, [0, 2, 3]</td><td>3</td><td>0</td><td>0</td></tr>")));
}

TEST(PagePlots, OfALongRunTheFirstAndTheLastStepsAreRows) {
  const Verdict verdict = testing::sample_verdict(1);

  const std::string text = testing::bare(first_plot_of(verdict, testing::sample_evidence(verdict, 100)));

  for (const char* step : {"0", "29", "70", "99"})
    EXPECT_THAT(text, HasSubstr("<tr><td>" + std::string(step) + "</td>"));
  for (const char* step : {"30", "69"}) EXPECT_THAT(text, Not(HasSubstr("<tr><td>" + std::string(step) + "</td>")));
  EXPECT_THAT(text, HasSubstr("<tr><td>...</td><td>(the rest is in the record&apos;s steps.csv)</td></tr>"));
}

TEST(PagePlots, ARankOfTheMemoryTableHasEachNumberInItsColumn) {
  const Verdict verdict = testing::sample_verdict(1);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  RankMemory& rank = evidence.cells.at("stories260k-adamw-afab-w1").ranks.at(0);
  rank.activation_bytes = 1000;
  rank.predicted_bytes = 900;
  rank.parameter_bytes = 30;
  rank.gradient_bytes = 40;
  rank.optimizer_bytes.reset();

  EXPECT_THAT(testing::bare(first_plot_of(verdict, evidence)),
              AllOf(HasSubstr("<tr><th>run</th><th>rank</th><th>units</th><th>peak activations</th><th>by the law</th>"
                              "<th>parameters</th><th>gradients</th><th>optimiser state</th></tr>"),
                    HasSubstr("<tr><td>afab, P = 1</td><td>0</td><td>embed_tokens, layers.0-4, norm, lm_head</td>"
                              "<td>1,000</td><td>900</td><td>30</td><td>40</td><td>-</td></tr>")));
}

TEST(PagePlots, OnlyLayersInARowAreARange) {
  const Verdict verdict = testing::sample_verdict(1);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  RankMemory& rank = evidence.cells.at("stories260k-adamw-afab-w1").ranks.at(0);
  rank.units = {"embed_tokens", "layers.0", "layers.1", "layers.4", "layers.9", "layers.10", "norm"};

  EXPECT_THAT(first_plot_of(verdict, evidence),
              HasSubstr("<td>embed_tokens, layers.0-1, layers.4, layers.9-10, norm</td>"))
      << "a rank of several stages";
}

TEST(PagePlots, RanksEqualToTheLawAreCountedOfThoseThatHaveOne) {
  const Verdict verdict = testing::sample_verdict(2);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  EXPECT_THAT(first_plot_of(verdict, evidence), HasSubstr("6 of 6 equal to the byte"));

  *evidence.cells.at("stories260k-adamw-afab-w1").ranks[0].predicted_bytes += 1;
  evidence.cells.at("stories260k-adamw-1f1b-w2").ranks[1].predicted_bytes.reset();
  EXPECT_THAT(first_plot_of(verdict, evidence), HasSubstr("4 of 5 equal to the byte"));
}

TEST(PagePlots, GroupsStandByWorldSizeWithoutPartitionsOfTheirOwn) {
  Verdict verdict = testing::sample_verdict(2);
  verdict.cells.resize(2);
  verdict.cells.push_back(testing::sample_verdict(1).cells.back());
  ASSERT_FALSE(verdict.cells.back().balance.empty());
  verdict.cells.back().schedule = "afab";
  std::ranges::reverse(verdict.cells);
  const Evidence evidence = testing::sample_evidence(verdict, 2);
  const auto ranks = [&](const std::string& id) { return evidence.cells.at(id).ranks; };

  const std::string expected =
      draw_activations({{"afab", {{1, ranks("stories260k-adamw-afab-w1")}, {2, ranks("stories260k-adamw-afab-w2")}}}},
                       evidence.references.at("stories260k-adamw").ranks.front().activation_bytes,
                       "Peak activations, stories260k, adamw");

  EXPECT_THAT(make_page(verdict, evidence), HasSubstr(expected));
}

TEST(PagePlots, RatiosAreSaidToBeOneOnlyWhereSomeWereComparedAndAllAre) {
  const Verdict verdict = testing::sample_verdict(1);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  const std::string said = "Gradient norms over the reference&apos;s: all ";
  EXPECT_THAT(first_plot_of(verdict, evidence), Not(HasSubstr(said)));

  evidence.cells.at("stories260k-adamw-afab-w1").ratios = {2, {{"w", 1, 1}}};
  evidence.cells.at("stories260k-adamw-1f1b-w1").ratios = {3, {{"w", 1, 1}}};
  EXPECT_THAT(first_plot_of(verdict, evidence), HasSubstr(said + "5 are exactly 1."));
  evidence.cells.at("stories260k-adamw-1f1b-w1").ratios = {3, {{"w", 1, 8}}};
  EXPECT_THAT(
      first_plot_of(verdict, evidence),
      AllOf(Not(HasSubstr(said)), HasSubstr("<title>Gradient norms over the reference&#39;s, stories260k, adamw")));
}

std::string slots_of(const Verdict& verdict, const Evidence& evidence) {
  return testing::section_of(make_page(verdict, evidence), "<h3>Activation slots against microbatches</h3>",
                             "<h2 id=\"not-run\">");
}

TEST(PagePlots, SlotsAreOfEachScheduleAtItsLargestWorldSize) {
  Verdict verdict = testing::sample_verdict(3);
  std::ranges::reverse(verdict.cells);

  const std::string text = testing::bare(slots_of(verdict, testing::sample_evidence(verdict, 2)));

  EXPECT_THAT(text, HasSubstr("<tr><th>afab, P = 3</th><td>1: 1, 2: 2, 3: 3,"));
  EXPECT_THAT(text, HasSubstr("<tr><th>1f1b, P = 4</th><td>1: 1, 2: 2, 3: 3, 4: 4, 5: 4,"));
}

TEST(PagePlots, SlotsAreMarkedWhereAllRunsHaveOneNumberOfMicrobatches) {
  const Verdict verdict = testing::sample_verdict(1);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  EXPECT_THAT(slots_of(verdict, evidence), HasSubstr(">these runs</text>"));

  evidence.cells.begin()->second.manifest.microbatches = 4;
  EXPECT_THAT(slots_of(verdict, evidence), Not(HasSubstr(">these runs</text>")));
}

}  // namespace
}  // namespace plumbline
