// SPDX-License-Identifier: BSD-3-Clause
// Signatures of boundary tensors: the affected microbatches, where the difference began, and no confusion of mistakes.
#include <bit>
#include <cmath>
#include <limits>

#include "tests/harness/sweep/fault_signatures/dumped_runs.hpp"

namespace plumbline::testing {
namespace {

class CrossingFingerprints : public DumpedRunsTest {
 protected:
  /// No multiple of any microbatch's, and no zeros.
  const Values noise_{5.5F, -0.75F, 3.25F, 9, -6.5F, 0.125F};
  void drop(const std::string& side) {
    for (Tensors& rank : ranks_)
      std::erase_if(rank, [&](const auto& each) { return each.first.ends_with("/" + side); });
  }
};

TEST_F(CrossingFingerprints, AnotherCutAndTheOtherDirectionAreNotLookedAt) {
  for (int microbatch = 0; microbatch < 4; ++microbatch) {
    reference_[crossing("backward", microbatch, "computed", "layers.2")] = times(right(microbatch), 2);
    ranks_[1][crossing("backward", microbatch, "send", "layers.2")] = times(right(microbatch), 8);
    Values& activation = ranks_[0][crossing("forward", microbatch, "send")];
    activation = times(activation, 4);
  }

  EXPECT_THAT(found_at_the_cut(), IsEmpty());
}

TEST_F(CrossingFingerprints, AnActivationIsCalledOne) {
  first_.direction = "forward";
  for (int microbatch = 0; microbatch < 4; ++microbatch) {
    for (const auto& [rank, side] : {std::pair(0, "send"), std::pair(1, "receive")}) {
      Values& values = ranks_[rank][crossing("forward", microbatch, side)];
      values = times(values, 4);
    }
  }

  const auto all = found_at_the_cut();

  ASSERT_THAT(names_of(all), ElementsAre("not_scaled"));
  EXPECT_THAT(all[0].words, HasSubstr("the activation at boundary layers.1 is 4.0000 x"));
}

// Microbatches that the reference lacks are not compared here; other checks report them.
TEST_F(CrossingFingerprints, AMicrobatchThatTheReferenceHasNotIsPassedOver) {
  ranks_[1][crossing("backward", 9, "send")] = noise_;

  EXPECT_THAT(found_at_the_cut(), IsEmpty());
}

// No statement about sides without dumps, and certainly not that they were correct.
TEST_F(CrossingFingerprints, WithoutWhatWasSentNothingIsSaidOfTheWay) {
  received(1)[4] = 17;
  received(1)[5] = 18;
  drop("send");

  EXPECT_THAT(found_at_the_cut(), IsEmpty());
}

TEST_F(CrossingFingerprints, WithoutWhatWasReceivedThatSentIsLookedAt) {
  sent(1) = times(right(1), 4);
  drop("receive");

  const auto all = found_at_the_cut();

  ASSERT_THAT(names_of(all), ElementsAre("not_scaled"));
  EXPECT_THAT(all[0].evidence, HasSubstr("in all 1 microbatches that differ"));
}

TEST_F(CrossingFingerprints, AnotherMicrobatchsValuesAreNamedWithBoth) {
  using Taken = std::vector<std::pair<int, int>>;  // a microbatch, and whose values it has
  for (const Taken& taken : {Taken{{1, 0}}, Taken{{1, 2}, {2, 1}}, Taken{{0, 1}, {1, 2}, {2, 0}}}) {
    for (int microbatch = 0; microbatch < 4; ++microbatch) both(microbatch, right(microbatch));
    std::vector<Values> values;
    for (const auto& [microbatch, whose] : taken) values.push_back(right(whose));
    for (std::size_t i = 0; i < taken.size(); ++i) both(taken[i].first, values[i]);

    const auto all = found_at_the_cut();

    ASSERT_THAT(names_of(all), ElementsAre("another_microbatch"));
    EXPECT_THAT(all[0].evidence,
                HasSubstr(std::to_string(taken[0].first) + " has the tensor of " + std::to_string(taken[0].second)));
  }
}

TEST_F(CrossingFingerprints, MixedUpIsSaidOnlyWhereItTellsEveryDifference) {
  both(1, right(0));
  both(2, noise_);

  EXPECT_THAT(found_at_the_cut(), IsEmpty());
}

// A fully masked microbatch's gradient is all zero, and so is a dropped one.
TEST_F(CrossingFingerprints, AZeroGradientIsNotTakenForThatOfAMaskedMicrobatch) {
  const Values zero(6, 0.0F);
  reference_[crossing("backward", 2, "computed")] = zero;
  both(2, zero);
  both(3, zero);

  const auto all = found_at_the_cut();

  ASSERT_THAT(names_of(all), ElementsAre("zero"));
  EXPECT_EQ(all[0].words, "the gradient at boundary layers.1 of microbatch 3 is all zero, the reference's is not");
  EXPECT_EQ(all[0].evidence, "1 of 4 microbatches");
}

TEST_F(CrossingFingerprints, DroppedAreAllThatDifferOrNoneIsSaidToBe) {
  both(1, Values(6, 0.0F));
  both(2, noise_);

  EXPECT_THAT(found_at_the_cut(), IsEmpty());
}

TEST_F(CrossingFingerprints, ZerosOfAnotherSignWereNotDropped) {
  reference_[crossing("backward", 2, "computed")] = Values(6, 0.0F);
  both(2, Values(6, -0.0F));

  EXPECT_THAT(found_at_the_cut(), IsEmpty());
}

TEST_F(CrossingFingerprints, ANanThatCameOnTheWayIsSaidWithWhereItCame) {
  received(1)[2] = received(1)[3] = std::numeric_limits<float>::quiet_NaN();

  const auto all = found_at_the_cut();

  ASSERT_THAT(names_of(all), ElementsAre("not_finite", "changed_on_the_wire"));
  EXPECT_EQ(all[0].evidence, "2 elements");
  EXPECT_EQ(all[1].evidence, "what was sent equals the reference in every bit; 2 of 6 received elements differ");
}

// Ties round to the even bfloat16: up from 0x3f81, down from 0x3f80.
TEST_F(CrossingFingerprints, NarrowingRoundsHalfToEven) {
  const auto number = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  const Values whole{number(0x3f818000), number(0x3f808000)};
  reference_[crossing("backward", 1, "computed")] = sent(1) = whole;
  received(1) = {number(0x3f820000), number(0x3f800000)};

  EXPECT_THAT(names_of(found_at_the_cut()), ElementsAre("narrowed_on_the_wire"));
}

TEST_F(CrossingFingerprints, WhatChangedOnTheWayIsNotNarrowedWhereOneElementIsNot) {
  // elements 4 and 5 of every microbatch, 1.1F and 2.3F, in bfloat16
  const float narrow_1_1 = std::bit_cast<float>(0x3f8d0000U), narrow_2_3 = std::bit_cast<float>(0x40130000U);
  using Elements = std::map<std::size_t, float>;
  for (const Elements& elements : {Elements{{0, 17.0F}, {5, narrow_2_3}}, Elements{{4, narrow_1_1}, {5, 17.0F}}}) {
    both(1, right(1));
    for (const auto& [element, value] : elements) received(1)[element] = value;

    EXPECT_THAT(names_of(found_at_the_cut()), ElementsAre("changed_on_the_wire"));
  }
}

TEST_F(CrossingFingerprints, ElementsThatDifferAreCountedOverAllMicrobatches) {
  received(1)[4] = received(1)[5] = received(2)[0] = 0;

  const auto all = found_at_the_cut();

  ASSERT_THAT(names_of(all), ElementsAre("changed_on_the_wire"));
  EXPECT_THAT(all[0].evidence, HasSubstr("3 of 12 received elements differ"));
}

TEST_F(CrossingFingerprints, OfAMessageOfAnotherShapeNothingIsSaid) {
  received(1).pop_back();

  EXPECT_THAT(found_at_the_cut(), IsEmpty());
}

TEST_F(CrossingFingerprints, AFactorHasToBeThatOfEveryMicrobatch) {
  both(0, times(right(0), 4));
  both(1, times(right(1), 2));

  EXPECT_THAT(found_at_the_cut(), IsEmpty());
}

TEST_F(CrossingFingerprints, AFactorThatRoundsIsFoundTooWithTheLargestResidual) {
  for (int microbatch = 0; microbatch < 4; ++microbatch) both(microbatch, times(right(microbatch), 0.7371F));
  // 3e-6 of the largest element: a residual of its own, in a microbatch that is neither first nor last
  const Values more = right(1);
  const float largest = *std::ranges::max_element(more, {}, [](float value) { return std::fabs(value); });
  sent(1)[static_cast<std::size_t>(std::ranges::find(more, largest) - more.begin())] *= 1 + 3e-6F;

  const auto all = found_at_the_cut();

  ASSERT_THAT(names_of(all), ElementsAre("scaled"));
  EXPECT_THAT(all[0].evidence, ::testing::ContainsRegex("in all 4 microbatches .* residual [1-3]\\.[0-9]+e-06"));
}

TEST_F(CrossingFingerprints, RoundingIsNeitherAScaleNorSaidBesideAnotherCause) {
  Values next = right(1);
  for (float& value : next) value = std::nextafter(value, 100.0F);
  both(1, next);
  EXPECT_THAT(names_of(found_at_the_cut()), ElementsAre("rounding"));

  sent(1) = right(1);
  EXPECT_THAT(names_of(found_at_the_cut()), ElementsAre("changed_on_the_wire"));
}

// Single elements are searched in the microbatch of the first divergence or, if that is correct at this boundary, in
// the first wrong one.
TEST_F(CrossingFingerprints, OneBitIsLookedForInTheFirstDivergence) {
  for (const std::optional<std::int64_t> first :
       std::vector<std::optional<std::int64_t>>{std::nullopt, 1, 2, 3 /* right at this cut */, 9 /* not there */}) {
    const int where = first == 2 ? 2 : 1;
    both(where, right(where));
    both(where == 1 ? 2 : 1, noise_);
    sent(where)[0] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(right(where)[0]) ^ 1U);

    const auto all = found_at_the_cut(first);

    ASSERT_THAT(names_of(all), ElementsAre("one_bit"));
    EXPECT_EQ(all[0].words, "the gradient at boundary layers.1 differs in a single bit");
    EXPECT_EQ(all[0].evidence, "1 of 6 elements, 1 bit, 1 ULP");
  }
}

}  // namespace
}  // namespace plumbline::testing
