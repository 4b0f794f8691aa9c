// Each pattern, in dumps made for it: found where it is, and not found where the values are right.
#include "harness/sweep/fingerprint/fingerprints.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "harness/sweep/fingerprint/relation.hpp"
#include "tests/harness/sweep/fingerprint/dumped_runs.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class Fingerprints : public DumpedRunsTest {};

TEST_F(Fingerprints, OfRightValuesThereIsNone) {
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_THAT(found_at_the_cut(), IsEmpty());
}

TEST_F(Fingerprints, FourTimesWithFourMicrobatchesIsALossNotScaled) {
  scale_all(4);

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("not_scaled"));
  EXPECT_EQ(all[0].words, "gradients of stages 0-1 are 4.0000 x the reference's; 4 is the number of microbatches");
  EXPECT_EQ(all[0].evidence, "ratio 4.0000 in 4 of 4 gradients, largest residual 0");
}

TEST_F(Fingerprints, OfOneStageAloneItIsSaid) {
  gradient("b") = times(gradient("b"), 24);
  gradient("head") = times(gradient("head"), 24);

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("not_normalised_by_tokens"));
  EXPECT_THAT(all[0].words, HasSubstr("gradients of stage 1 are 24.0000 x"));
}

TEST_F(Fingerprints, WhereTwoCausesFitBothAreNamed) {
  facts_.microbatches = facts_.valid_tokens = 24;
  scale_all(24);

  EXPECT_THAT(names_of(found()), UnorderedElementsAre("not_scaled", "not_normalised_by_tokens"));
}

TEST_F(Fingerprints, AFactorThatNothingExplainsIsAScaleAllTheSame) {
  scale_all(0.7371F);

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("scaled"));
  EXPECT_THAT(all[0].words, HasSubstr("0.7371 x the reference's; it is neither"));
}

TEST_F(Fingerprints, FactorsTellWhatTheyMayComeFrom) {
  const auto names = [&](double factor) {
    scale_all(static_cast<float>(factor));
    const auto all = names_of(found());
    scale_all(static_cast<float>(1 / factor));
    return all;
  };
  EXPECT_THAT(names(0.25), ElementsAre("scaled_twice"));
  EXPECT_THAT(names(2), Contains("counted_twice"));
  EXPECT_THAT(names(2), Contains("summed_over_stages")) << "there are two stages";
  EXPECT_THAT(names(-1), ElementsAre("sign"));
  EXPECT_THAT(names(6), ElementsAre("mean_of_means"));
}

TEST_F(Fingerprints, AScaleAtEachStageGrowsTowardsTheFirst) {
  gradient("embed") = times(gradient("embed"), 1.0F / 16);
  gradient("a") = times(gradient("a"), 1.0F / 16);
  gradient("b") = times(gradient("b"), 1.0F / 4);
  gradient("head") = times(gradient("head"), 1.0F / 4);

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("scaled_at_each_stage"));
  EXPECT_THAT(all[0].evidence, HasSubstr("stage 0: 0.0625, stage 1: 0.2500"));
}

TEST_F(Fingerprints, TheStepBeforeAddedUpIsNotZeroed) {
  for (const char* name : {"embed", "a", "b", "head"})
    gradient(name) = plus(gradient(name), before(name)["gradient/" + std::string(name)]);

  EXPECT_THAT(names_of(found()), ElementsAre("not_zeroed"));
}

TEST_F(Fingerprints, TheStepBeforeAsItWasClippedIsNotZeroedEither) {
  for (const char* name : {"embed", "a", "b", "head"})
    gradient(name) = plus(gradient(name), times(before(name)["gradient/" + std::string(name)], 0.25F));

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("not_zeroed"));
  EXPECT_THAT(all[0].words, HasSubstr("this step's and 0.2500 x those of the step before"));
}

TEST_F(Fingerprints, OneMicrobatchAloneWasOverwrittenAndNotAddedUp) {
  for (const bool apart : {false, true}) {
    facts_.sums_microbatches_apart = apart;
    dump_after_each_microbatch();
    for (const char* name : {"embed", "a", "b", "head"}) gradient(name) = part(name, 3);

    const auto all = found();

    ASSERT_THAT(names_of(all), ElementsAre("one_microbatch_only"));
    EXPECT_THAT(all[0].words, HasSubstr("microbatch 3 alone, the last one"));
    EXPECT_THAT(all[0].evidence, HasSubstr("over 4 gradients that differ"));
  }
}

TEST_F(Fingerprints, AMicrobatchTwiceOrMissingIsNamed) {
  dump_after_each_microbatch();
  gradient("a") = plus(gradient("a"), part("a", 1));
  const auto twice = found();
  ASSERT_THAT(names_of(twice), ElementsAre("microbatch_twice"));
  EXPECT_THAT(twice[0].words, HasSubstr("what microbatch 1 adds twice"));

  gradient("a") = plus(reference_["gradient/a"], times(part("a", 3), -1));
  const auto missing = found();
  ASSERT_THAT(names_of(missing), ElementsAre("microbatch_missing"));
  EXPECT_THAT(missing[0].words, HasSubstr("lack what microbatch 3 adds"));
}

TEST_F(Fingerprints, AMicrobatchInPlaceOfAnotherIsNamedWithBoth) {
  dump_after_each_microbatch();
  for (const char* name : {"b", "head"})
    gradient(name) = plus(plus(gradient(name), part(name, 1)), times(part(name, 0), -1));

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("microbatch_of_another"));
  EXPECT_THAT(all[0].words, HasSubstr("what microbatch 1 adds in place of what microbatch 0 adds"));
}

TEST_F(Fingerprints, OfALargeGradientSomeElementsAreLookedAt) {
  const auto long_one = [](const Values& values) {
    Values all;
    for (int i = 0; i < 2500; ++i) all.insert(all.end(), values.begin(), values.end());
    return all;
  };
  dump_after_each_microbatch();
  for (auto& [key, values] : reference_) {
    if (key.ends_with("/a")) values = long_one(values);
  }
  gradient("a") = plus(long_one(gradient("a")), long_one(part("a", 1)));

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("microbatch_twice"));
  EXPECT_THAT(all[0].evidence, HasSubstr("at most 4096 elements of each"));
}

TEST_F(Fingerprints, OfMicrobatchesNothingIsSaidWithoutTheirDumpsOrOfOtherValues) {
  gradient("a") = plus(gradient("a"), part("a", 1));
  EXPECT_THAT(names_of(found()), IsEmpty());

  dump_after_each_microbatch();
  gradient("a") = plus(gradient("a"), {0, 0.3F, 0, 0});
  EXPECT_THAT(names_of(found()), IsEmpty());
}

TEST_F(Fingerprints, OnlyTheTiedWeightIsATiedGradientNotReduced) {
  facts_.tied = {{"embed", "head"}};
  ranks_[0]["gradient_use/embed"] = gradient("embed") = {0.4F, -1.0F, 0.25F, 0.001F};

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("tied_not_reduced"));
  EXPECT_THAT(all[0].evidence, HasSubstr("it equals in every bit what its use as embed adds"));
}

TEST_F(Fingerprints, ANormWithTheTiedWeightTwiceIsKnown) {
  facts_.tied = {{"embed", "head"}};
  double square = 0;
  for (const float each : gradient("embed")) square += static_cast<double>(each) * static_cast<double>(each);
  facts_.reference_norm = 3;
  facts_.norms = {{0, std::sqrt(9 + square)}, {1, std::sqrt(9 + square)}};

  EXPECT_THAT(names_of(found()), ElementsAre("tied_counted_twice"));
}

TEST_F(Fingerprints, ANormOfTheOwnStageIsKnown) {
  facts_.reference_norm = 5;
  facts_.norms = {{0, 3}, {1, 4}};
  facts_.own_norms = {{0, 3}, {1, 4}};

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("norm_of_own_stage"));
  EXPECT_THAT(all[0].evidence, HasSubstr("rank 0 has 3.0000, rank 1 has 4.0000; the norm of all is 5.0000"));
}

TEST_F(Fingerprints, AParameterThatStaysIsNotUpdated) {
  parameter("head") = before("head")["parameter/head"];

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("not_updated"));
  EXPECT_THAT(all[0].words, HasSubstr("head is what it was before the step"));
}

TEST_F(Fingerprints, ZeroGradientsAreADetachedGraph) {
  gradient("embed") = {0, 0, 0, 0};
  gradient("a") = {0, 0, 0, 0};

  const auto all = found();

  EXPECT_THAT(names_of(all), ElementsAre("zero_gradients"));
  EXPECT_THAT(all[0].words, HasSubstr("gradients of stage 0 are all zero"));
}

TEST_F(Fingerprints, OneBitIsToldFromOneElement) {
  gradient("a")[2] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(gradient("a")[2]) ^ 4U);
  EXPECT_THAT(names_of(found()), Contains("one_bit"));
  gradient("a")[2] = 99;
  EXPECT_THAT(names_of(found()), Contains("one_element"));
}

TEST_F(Fingerprints, RoundingIsNoMistakeOfScale) {
  for (float& value : gradient("a")) value = std::nextafter(value, 100.0F);

  EXPECT_THAT(names_of(found()), ElementsAre("rounding"));
}

TEST_F(Fingerprints, MicrobatchesThatAreEachOthersWereSwapped) {
  both(1, right(2));
  both(2, right(1));

  const auto all = found_at_the_cut();

  ASSERT_THAT(names_of(all), ElementsAre("swapped_microbatches"));
  EXPECT_THAT(all[0].evidence, HasSubstr("microbatch 1 has that of 2, 2 has that of 1"));
}

TEST_F(Fingerprints, TheMicrobatchBeforeIsAStaleBuffer) {
  received(2) = right(1);

  EXPECT_THAT(names_of(found_at_the_cut()), ElementsAre("previous_microbatch"));
}

TEST_F(Fingerprints, AGradientAllZeroAtACutWasDropped) {
  both(3, Values(6, 0.0F));

  EXPECT_THAT(names_of(found_at_the_cut()), ElementsAre("zero"));
}

TEST_F(Fingerprints, ANanIsSaid) {
  sent(0)[1] = std::numeric_limits<float>::quiet_NaN();

  EXPECT_THAT(names_of(found_at_the_cut()), Contains("not_finite"));
}

TEST_F(Fingerprints, RoundedToBfloat16OnTheWayIsNarrowing) {
  for (int microbatch = 0; microbatch < 4; ++microbatch) {
    for (float& value : received(microbatch)) {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      value = std::bit_cast<float>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) & 0xFFFF0000U);
    }
  }

  EXPECT_THAT(names_of(found_at_the_cut()), ElementsAre("narrowed_on_the_wire"));
}

TEST_F(Fingerprints, ALostTokenIsZerosOnTheWay) {
  received(1)[4] = received(1)[5] = 0;

  EXPECT_THAT(names_of(found_at_the_cut()), ElementsAre("cut_off_on_the_wire"));
}

TEST_F(Fingerprints, AnythingElseThatCameOnTheWayIsSaid) {
  received(1)[4] = 17;
  received(1)[5] = 18;

  EXPECT_THAT(names_of(found_at_the_cut()), ElementsAre("changed_on_the_wire"));
}

TEST_F(Fingerprints, AScaleAtTheCutIsToldWithItsMicrobatches) {
  for (int microbatch = 0; microbatch < 4; ++microbatch) both(microbatch, times(right(microbatch), 4));

  const auto all = found_at_the_cut();

  ASSERT_THAT(names_of(all), ElementsAre("not_scaled"));
  EXPECT_THAT(all[0].words, HasSubstr("the gradient at cut layers.1 is 4.0000 x"));
}

TEST_F(Fingerprints, NoiseIsNoKnownMistake) {
  gradient("a") = {0.3F, 2.2F, 1.7F, -4.9F};
  gradient("b") = {5.3F, -2.2F, 0.7F, 1.9F};

  EXPECT_THAT(found(), IsEmpty());
}

TEST(UlpBuckets, CountByPowersOfTwoAndLeaveNansOut) {
  const Values one{1, 1, 1, 1, 1}, other{1, std::nextafter(1.0F, 2.0F), std::bit_cast<float>(0x3F800003U),
                                         std::bit_cast<float>(0x3F800005U), std::numeric_limits<float>::quiet_NaN()};
  const SafetensorsEntry expected{"float32", {5}, std::as_bytes(std::span(one))},
      got{"float32", {5}, std::as_bytes(std::span(other))};
  std::int64_t not_numbers = 0;

  const auto buckets = ulp_buckets(expected, got, not_numbers);

  ASSERT_EQ(buckets.size(), 4U);
  EXPECT_EQ(buckets[0].elements, 1) << "equal";
  EXPECT_EQ(buckets[2].from, 2);
  EXPECT_EQ(buckets[2].to, 3);
  EXPECT_EQ(buckets[3].from, 4);
  EXPECT_EQ(not_numbers, 1);
}

TEST(CrossingKey, IsReadOrRefused) {
  const auto key = parse_crossing_key("boundary/backward/7/layers.3/receive");

  ASSERT_TRUE(key);
  EXPECT_EQ(key->microbatch, 7);
  EXPECT_EQ(key->cut, "layers.3");
  EXPECT_FALSE(parse_crossing_key("gradient/lm_head.weight"));
  EXPECT_FALSE(parse_crossing_key("boundary/backward/x/layers.3/receive"));
}

}  // namespace
}  // namespace plumbline::testing
