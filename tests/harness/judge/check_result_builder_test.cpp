// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/check_result_builder.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace plumbline::testing {
namespace {

using namespace judging;
using ::testing::HasSubstr;

Finding item(const std::string& name) {
  Finding divergence;
  divergence.item = name;
  divergence.words = name + " differs";
  return divergence;
}

TEST(CheckResultBuilder, EmptyComparisonFails) {
  CheckResultBuilder builder("loss", "R1", "0 ULP");

  const auto judged = builder.conclude("all losses agree", {{"losses", 1}});

  EXPECT_EQ(judged.result.outcome, Outcome::differs);
  EXPECT_THAT(judged.result.reason, HasSubstr("inspected 0 losses"));
}

TEST(CheckResultBuilder, KeepsTheEarliestDivergenceInAnyOrderOfFinding) {
  CheckResultBuilder builder("gradients", "R3", "0 ULP");
  builder.diverge(at_gradient(1, 0, 0), item("late"));
  builder.diverge(at_gradient(0, 4, 1), item("next"));
  builder.diverge(at_gradient(0, 5, 1), item("early"));

  const auto judged = builder.conclude("", {});

  EXPECT_EQ(judged.result.first_divergence->item, "early");
  EXPECT_EQ(judged.result.first_divergence->level, "R3");
  EXPECT_THAT(judged.result.reason, HasSubstr("3 differences in all; in that step: early, next)"));
}

TEST(CheckResultBuilder, MergesTheDivergencesOfAPart) {
  for (const bool part_is_earlier : {false, true}) {
    CheckResultBuilder whole("memory", "memory", "exact"), part("memory", "memory", "exact");
    whole.diverge(at_gradient(part_is_earlier ? 1 : 0, 0, 0), item("own"));
    part.diverge(at_gradient(part_is_earlier ? 0 : 1, 0, 0), item("of the part"));
    whole.absorb(std::move(part));

    const auto judged = whole.conclude("", {});

    EXPECT_EQ(judged.result.first_divergence->item, part_is_earlier ? "of the part" : "own");
    EXPECT_THAT(judged.result.reason, HasSubstr("2 differences in all"));
  }
}

TEST(CheckResultBuilder, NoOutcomeHidesADivergence) {
  CheckResultBuilder builder("gradient_norm", "R4", "0 ULP");
  builder.diverge(at_norm(0), item("norm"));

  EXPECT_EQ(builder.conclude_as(Outcome::incomplete, "never bit").result.outcome, Outcome::differs);
}

TEST(CheckResultBuilder, CountsComparedAndInspectedSeparately) {
  CheckResultBuilder builder("loss", "R1", "0 ULP");
  builder.compare("losses", 3);
  builder.inspect("losses", 2);
  builder.compare_or_inspect(true, "sums");
  builder.compare_or_inspect(false, "sums", 4);

  const auto result = builder.conclude("", {{"losses", 5}, {"sums", 5}}).result;

  EXPECT_EQ(result.outcome, Outcome::holds) << "a minimum counts both";
  EXPECT_EQ(result.compared, (Counts{{"losses", 3}, {"sums", 1}}));
  EXPECT_EQ(result.inspected, (Counts{{"losses", 2}, {"sums", 4}}));
}

TEST(CheckResultBuilder, IsIncompleteWithoutRevealingItems) {
  CheckResultBuilder builder("gradients", "R3", "0 ULP");
  builder.compare("tensors", 3);
  builder.compare("nonzero_elements", 0);

  const auto result = builder.conclude("all agree", {{"tensors", 3}}, {"nonzero_elements"}).result;

  EXPECT_EQ(result.outcome, Outcome::incomplete);
  EXPECT_THAT(result.reason, HasSubstr("0 nonzero_elements"));
}

TEST(CheckResultBuilder, ADifferenceFailsEvenWithoutRevealingItems) {
  CheckResultBuilder builder("gradients", "R3", "0 ULP");
  builder.diverge(at_norm(0), item("norm"));

  EXPECT_EQ(builder.conclude("", {}, {"nonzero_elements"}).result.outcome, Outcome::differs);
}

TEST(CheckResultBuilder, OneDifferenceKeepsItsWords) {
  CheckResultBuilder builder("gradients", "R3", "0 ULP");
  builder.diverge(at_norm(0), item("norm"));

  const auto result = builder.conclude("", {}).result;

  EXPECT_EQ(result.reason, "norm differs");
  EXPECT_EQ(result.measured, "1 difference");
  EXPECT_EQ(result.limit, "0 ULP");
}

TEST(CheckResultBuilder, NamesItemsOfTheEarliestStepOnceEach) {
  CheckResultBuilder builder("gradients", "R3", "0 ULP");
  builder.diverge(at_gradient(2, 0, 0), item("late"));
  for (std::int64_t i = 0; i < 10; ++i) builder.diverge(at_gradient(1, -i, 0), item("g" + std::to_string(i)));
  builder.diverge(at_gradient(1, 0, 1), item("g0"));
  builder.diverge(at_gradient(2, 1, 0), item("later"));

  EXPECT_EQ(builder.conclude("", {}).result.reason,
            "g0 differs (13 differences in all; in that step: g0, g1, g2, g3, g4, g5, g6, g7 and 2 more)");
}

TEST(CheckResultBuilder, NamesUpToEightItems) {
  CheckResultBuilder builder("gradients", "R3", "0 ULP");
  for (std::int64_t i = 0; i < 8; ++i) builder.diverge(at_gradient(1, -i, 0), item("g" + std::to_string(i)));

  EXPECT_THAT(builder.conclude("", {}).result.reason, ::testing::EndsWith("g6, g7)"));
}

TEST(CheckResultBuilder, MakesASentenceForAFindingWithoutWords) {
  CheckResultBuilder builder("memory", "memory", "exact");
  builder.diverge(off_path(3, OffPath::activation_peak, 1),
                  {.step = 3, .rank = 1, .item = "live_bytes", .why = "too many"});

  const auto judged = builder.conclude("", {});

  const auto& found = judged.result.first_divergence.value();
  EXPECT_EQ(found.level, "memory");
  EXPECT_EQ(found.words, "step 3, rank 1, live_bytes: too many");
  EXPECT_EQ(judged.point, off_path(3, OffPath::activation_peak, 1));
}

TEST(CheckResultBuilder, MergesCountsAndReasonOfAPart) {
  CheckResultBuilder whole("memory", "memory", "exact"), part("memory", "memory", "exact");
  whole.compare("rows", 2);
  part.compare("rows", 3);
  part.inspect("cells", 4);
  part.not_shown("this");
  part.leave_out("that");
  part.predicted_peaks({7, 8});
  whole.absorb(std::move(part));
  whole.absorb(CheckResultBuilder("memory", "memory", "exact"));  // has no peaks, so the first's stay

  const auto result = whole.conclude("well", {}).result;

  EXPECT_EQ(result.compared, (Counts{{"rows", 5}}));
  EXPECT_EQ(result.inspected, (Counts{{"cells", 4}}));
  EXPECT_THAT(result.not_shown, ::testing::ElementsAre("this"));
  EXPECT_EQ(result.reason, "well; not inspected: that");
  EXPECT_EQ(result.predicted_peak_bytes, (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(result.measured, "no difference");
}

TEST(CheckResultBuilder, KeepsTheFirstOfTwoDifferencesInOnePlaceAndNamesBoth) {
  CheckResultBuilder whole("memory", "memory", "exact"), part("memory", "memory", "exact");
  whole.diverge(at_norm(0), item("own"));
  part.diverge(at_norm(0), item("of the part"));
  whole.absorb(std::move(part));

  const auto result = whole.conclude("", {}).result;

  EXPECT_EQ(result.first_divergence->item, "own");
  EXPECT_THAT(result.reason, HasSubstr("in that step: own, of the part"));
}

TEST(CheckResultBuilder, EachMissedMinimumIsADifference) {
  CheckResultBuilder builder("loss", "R1", "0 ULP");
  builder.compare("a", 5);
  builder.compare("b", 1);

  const auto judged = builder.conclude("", {{"a", 5}, {"b", 2}, {"c", 1}});

  const auto& found = judged.result.first_divergence.value();
  EXPECT_EQ(found.item, "b");
  EXPECT_EQ(found.expected, "at least 2");
  EXPECT_EQ(found.got, "1");
  EXPECT_EQ(judged.point, at_the_end());
  EXPECT_THAT(judged.result.reason, HasSubstr("(2 differences in all; in that step: b, c)"));
}

TEST(CheckResultBuilder, AllRevealingKindsMustExist) {
  CheckResultBuilder builder("gradients", "R3", "0 ULP");
  builder.compare("first");

  const auto result = builder.conclude("", {}, {"first", "second"}).result;

  EXPECT_EQ(result.outcome, Outcome::incomplete);
  EXPECT_THAT(result.reason, HasSubstr("0 second"));
  EXPECT_EQ(result.measured, "") << "nothing was compared";
}

ComparedValue measured(const std::string& name, double error, double limit) {
  return {std::nullopt, Measured{name, error, limit, {}}};
}

TEST(CheckResultBuilder, ReportsTheMeasuredValueNearestToItsLimit) {
  CheckResultBuilder builder("loss", "R1", "limits");
  EXPECT_FALSE(builder.take(measured("near", 0.25, 1)));
  builder.take(measured("nearest", 0.5, 1));
  builder.take(measured("as near", 1, 2));
  builder.take({ValueDifference{"1", "2", ""}, std::nullopt});

  const auto result = builder.conclude("well", {}).result;

  EXPECT_EQ(result.margin, 0.5);
  EXPECT_EQ(result.measured, "0.5 at nearest");
  EXPECT_THAT(result.reason, ::testing::StartsWith("well; nearest to its limit of 3: "));
  EXPECT_THAT(result.reason, ::testing::Not(HasSubstr("WARNING"))) << "a margin of one half gives no warning";
}

TEST(CheckResultBuilder, MarginsAboveOneHalfWarnAndNanIsTheLargest) {
  CheckResultBuilder builder("loss", "R1", "limits");
  builder.take(measured("large", 0.75, 1));
  builder.take(measured("no number", std::nan(""), 1));
  builder.take(measured("larger", 0.9, 1));

  const auto result = builder.conclude("", {}).result;

  EXPECT_EQ(result.measured, "nan at no number");
  EXPECT_THAT(result.reason, HasSubstr("WARNING: 3 have a margin above 0.5"));
}

}  // namespace
}  // namespace plumbline::testing
