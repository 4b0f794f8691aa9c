// SPDX-License-Identifier: BSD-3-Clause
// Each signature in dumps made for it: found if present, and not found in correct values.
#include "harness/sweep/fault_signatures/fault_signatures.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "harness/sweep/fault_signatures/relation.hpp"
#include "tests/harness/sweep/fault_signatures/dumped_runs.hpp"

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
  EXPECT_THAT(names(-1), ElementsAre("scaled"));
}

TEST_F(Fingerprints, OneMicrobatchAloneWasOverwrittenAndNotAddedUp) {
  for (const bool apart : {false, true}) {
    facts_.sums_microbatches_apart = apart;
    dump_after_each_microbatch();
    for (const char* name : {"embed", "a", "b", "head"}) gradient(name) = part(name, 3);

    const auto all = found();

    ASSERT_THAT(names_of(all), ElementsAre("one_microbatch_only"));
    EXPECT_THAT(all[0].words, HasSubstr("microbatch 3 alone, the last one"));
    EXPECT_THAT(all[0].evidence, HasSubstr("over 4 gradients with differences"));
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

TEST_F(Fingerprints, AnythingElseThatCameOnTheWayIsSaid) {
  received(1)[4] = 17;
  received(1)[5] = 18;

  EXPECT_THAT(names_of(found_at_the_cut()), ElementsAre("changed_on_the_wire"));
}

TEST_F(Fingerprints, AScaleAtTheCutIsToldWithItsMicrobatches) {
  for (int microbatch = 0; microbatch < 4; ++microbatch) both(microbatch, times(right(microbatch), 4));

  const auto all = found_at_the_cut();

  ASSERT_THAT(names_of(all), ElementsAre("not_scaled"));
  EXPECT_THAT(all[0].words, HasSubstr("the gradient at boundary layers.1 is 4.0000 x"));
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
