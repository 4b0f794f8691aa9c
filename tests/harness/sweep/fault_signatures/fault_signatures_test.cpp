// SPDX-License-Identifier: BSD-3-Clause
// Each signature in dumps made for it: found if present, and not found in correct values.
#include "harness/sweep/fault_signatures/fault_signatures.hpp"

#include "tests/harness/sweep/fault_signatures/dumped_runs.hpp"

namespace plumbline::testing {
namespace {

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

TEST_F(Fingerprints, WhereTwoCausesFitBothAreNamed) {
  facts_.microbatches = facts_.valid_tokens = 24;
  scale_all(24);

  EXPECT_THAT(names_of(found()), UnorderedElementsAre("not_scaled", "not_normalised_by_tokens"));
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

TEST_F(Fingerprints, NoiseIsNoKnownMistake) {
  gradient("a") = {0.3F, 2.2F, 1.7F, -4.9F};
  gradient("b") = {5.3F, -2.2F, 0.7F, 1.9F};

  EXPECT_THAT(found(), IsEmpty());
}

}  // namespace
}  // namespace plumbline::testing
