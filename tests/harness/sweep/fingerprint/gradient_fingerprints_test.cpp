// What is said of gradients of parameters that are not the reference's, and what is not.
#include <bit>
#include <cmath>

#include "harness/sweep/fingerprint/fingerprints.hpp"
#include "tests/harness/sweep/fingerprint/dumped_runs.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class GradientFingerprints : public DumpedRunsTest {
 protected:
  /// A gradient of both runs.
  void set(const std::string& name, const Values& values) { reference_["gradient/" + name] = gradient(name) = values; }
  /// Neither a multiple of another gradient nor of the step before.
  const Values unlike_{0.3F, 2.2F, 1.7F, -4.9F};
};

TEST_F(GradientFingerprints, AParameterThatTheReferenceHasNotIsPassedOver) {
  ranks_[0]["gradient/extra"] = unlike_;
  EXPECT_THAT(found(), IsEmpty());

  scale_all(4);
  const auto all = found();
  ASSERT_THAT(names_of(all), ElementsAre("not_scaled"));
  EXPECT_THAT(all[0].evidence, HasSubstr("in 4 of 4 gradients"));
}

struct StagesInWords {
  std::map<std::string, std::int64_t> stage_of;
  std::vector<std::string> scaled;
  std::string words;
};

class StagesOfGradients : public GradientFingerprints, public ::testing::WithParamInterface<StagesInWords> {};

TEST_P(StagesOfGradients, AreNamed) {
  facts_.stage_of = GetParam().stage_of;
  for (const auto& name : GetParam().scaled) gradient(name) = times(gradient(name), 24);

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("not_normalised_by_tokens"));
  EXPECT_THAT(all[0].words, HasSubstr("gradients of " + GetParam().words + " are 24.0000 x"));
}

INSTANTIATE_TEST_SUITE_P(
    Words, StagesOfGradients,
    ::testing::Values(StagesInWords{{{"embed", 0}, {"a", 1}, {"b", 2}, {"head", 4}}, {"b"}, "stage 2"},
                      StagesInWords{{{"embed", 0}, {"a", 1}, {"b", 2}, {"head", 4}}, {"a", "b"}, "stages 1-2"},
                      StagesInWords{{{"embed", 0}, {"a", 1}, {"b", 2}, {"head", 4}}, {"embed", "b"}, "stages 0, 2"},
                      // of which the record has no table: the rank's number
                      StagesInWords{{{"embed", 2}, {"a", 2}}, {"b"}, "stage 1"}));

TEST_F(GradientFingerprints, AFactorHasToBeThatOfEveryGradientThatDiffers) {
  scale_all(4);
  gradient("a") = {0, 0, 0, 0};
  EXPECT_THAT(names_of(found()), ElementsAre("zero_gradients"));

  reference_["gradient/a"] = {0, 0, 0, 0};
  gradient("a") = unlike_;
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(GradientFingerprints, TheLargestResidualIsTold) {
  scale_all(0.7371F);
  gradient("b")[3] *= 1 + 6e-6F;

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("scaled"));
  EXPECT_THAT(all[0].evidence, ::testing::ContainsRegex("largest residual [12]\\.[0-9]+e-06"));
}

class ScaledByStage : public GradientFingerprints {
 protected:
  /// embed is of stage 0, a of 1, b and head of the last.
  void scale(float embed, float a, std::int64_t last_stage) {
    facts_.stage_of = {{"embed", 0}, {"a", 1}, {"b", last_stage}, {"head", last_stage}};
    gradient("embed") = times(gradient("embed"), embed);
    gradient("a") = times(gradient("a"), a);
  }
};

TEST_F(ScaledByStage, TheFactorFromStageToStageIsToldWithItsCause) {
  scale(1.0F / 16, 1.0F / 4, 2);

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("scaled_at_each_stage"));
  EXPECT_THAT(all[0].words, HasSubstr("by 0.2500 with every stage towards the first; it is 1 / 4"));
  EXPECT_EQ(all[0].evidence, "ratios stage 0: 0.0625, stage 1: 0.2500, stage 2: 1.0000");
}

TEST_F(ScaledByStage, AStageWithoutParametersCountsAsWell) {
  scale(1.0F / 64, 1.0F / 16, 3);

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("scaled_at_each_stage"));
  EXPECT_THAT(all[0].words, HasSubstr("by 0.2500 with every stage"));
}

TEST_F(ScaledByStage, AnotherFactorAtEachStageIsNotOne) {
  scale(1.0F / 12, 1.0F / 3, 2);  // a quarter, then a third

  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(ScaledByStage, AGradientThatIsZeroInBothStandsInNobodysWay) {
  set("b", {0, 0, 0, 0});
  scale(1.0F / 16, 1.0F / 4, 2);

  EXPECT_THAT(names_of(found()), ElementsAre("scaled_at_each_stage"));
}

TEST_F(GradientFingerprints, AZeroGradientThatIsAloneIsNamed) {
  gradient("a") = {0, 0, 0, 0};

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("zero_gradients"));
  EXPECT_THAT(all[0].words, EndsWith("the reference's are not (a)"));
  EXPECT_EQ(all[0].evidence, "1 of 4 gradients");
  gradient("b") = {0, 0, 0, 0};
  EXPECT_THAT(found().at(0).words, EndsWith("the reference's are not"));
}

TEST_F(GradientFingerprints, ZerosOfAnotherSignAreNoDetachedGraph) {
  reference_["gradient/a"] = {0, 0, 0, 0};
  gradient("a") = {-0.0F, -0.0F, -0.0F, -0.0F};

  EXPECT_THAT(found(), IsEmpty());
}

class TiedGradient : public GradientFingerprints {
 protected:
  TiedGradient() {
    facts_.tied = {{"embed", "head"}};
    gradient("embed") = unlike_;
    gradient("head") = times(unlike_, -2);
  }
  std::string evidence() {
    const auto all = found();
    EXPECT_THAT(names_of(all), ElementsAre("tied_not_reduced"));
    return all.empty() ? "" : all[0].evidence;
  }
};

TEST_F(TiedGradient, IsNotSaidToBeAUseThatItIsNot) {
  ranks_[0]["gradient_use/embed"] = reference_["gradient_use/embed"] = plus(unlike_, unlike_);
  reference_["gradient_after/0/embed"] = gradient("embed");  // which is no use

  EXPECT_THAT(evidence(), Not(HasSubstr("equals")));
}

TEST_F(TiedGradient, OfEitherUseIsSaidToEqualIt) {
  ranks_[1]["gradient_use/head"] = gradient("head");

  EXPECT_THAT(evidence(), EndsWith("it equals in every bit what its use as head adds"));
}

TEST_F(TiedGradient, EqualToAUseInTheReferenceIsSaidToBeThatUseAlone) {
  reference_["gradient_use/head"] = gradient("head");

  EXPECT_THAT(evidence(), EndsWith("it equals in every bit what its use as head adds alone"));
}

// One mistake is named once, whatever else would fit it.
TEST_F(TiedGradient, ThatIsOffByRoundingIsToldOnce) {
  gradient("embed") = reference_["gradient/embed"];
  gradient("head") = reference_["gradient/head"];
  for (float& value : gradient("head")) value = std::nextafter(value, 100.0F);

  EXPECT_THAT(evidence(), HasSubstr("1 of 4 gradients"));
}

TEST_F(TiedGradient, BesideAnotherThatDiffersIsNotSaidToBeTheOnlyOne) {
  gradient("a") = plus(unlike_, unlike_);

  EXPECT_THAT(found(), IsEmpty());
}

class StepBefore : public GradientFingerprints {
 protected:
  /// Of "a", in both runs: what the step before had, and what is added to this step's.
  void add(const Values& before_it, const Values& more) {
    reference_before_["gradient/a"] = before("a")["gradient/a"] = before_it;
    gradient("a") = plus(reference_["gradient/a"], more);
  }
  const Values earlier_{1.0F, 0.4F, -0.6F, 2.2F};
};

TEST_F(StepBefore, AddedUpIsToldInItsWords) {
  add(earlier_, earlier_);
  auto all = found();
  ASSERT_THAT(names_of(all), ElementsAre("not_zeroed"));
  EXPECT_EQ(all[0].words, "gradients are this step's and those of the step before, added up");
  EXPECT_THAT(all[0].evidence, Not(HasSubstr("clipped")));

  add(earlier_, times(earlier_, 0.25F));
  all = found();
  ASSERT_THAT(names_of(all), ElementsAre("not_zeroed"));
  EXPECT_THAT(all[0].evidence, EndsWith("a share below 1 is what the step before was clipped by"));
}

TEST_F(StepBefore, ThatBeganWithZeroIsLookedAtWhole) {
  const Values from_zero{0, 0.4F, -0.6F, 2.2F};
  add(from_zero, times(from_zero, 0.5F));

  EXPECT_THAT(names_of(found()), ElementsAre("not_zeroed"));
}

// Across the step before, so that the share is 1 all the same.
TEST_F(StepBefore, WithSomethingElseBesideItIsNotSaid) {
  add(earlier_, plus(earlier_, {0, 3, 2, 0}));

  EXPECT_THAT(found(), IsEmpty());
}

// A residual is relative: of small gradients it is as large.
TEST_F(StepBefore, OfSmallGradientsIsHeldToTheSameResidual) {
  set("a", {0.0031F, 0.0002F, -0.0007F, 0.0019F});
  const Values small = times(earlier_, 0.001F);
  add(small, plus(small, {0, 3e-5F, 2e-5F, 0}));

  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(StepBefore, HasToFitEveryGradientThatDiffers) {
  add(earlier_, earlier_);
  gradient("b") = unlike_;

  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(StepBefore, TakenAwayOrTwiceOrZeroIsAnotherMatter) {
  add(earlier_, times(earlier_, -1));
  EXPECT_THAT(found(), IsEmpty());
  add(earlier_, times(earlier_, 2));
  EXPECT_THAT(found(), IsEmpty());
  add({0, 0, 0, 0}, unlike_);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(StepBefore, OfAnotherShapeIsNotHeldAgainstIt) {
  add({1.0F, 0.4F, -0.6F, 2.2F, 5.0F}, earlier_);

  EXPECT_THAT(found(), IsEmpty());
}

// Under AddressSanitizer: elements that the reference has not are not read.
TEST_F(StepBefore, AGradientOfAnotherShapeThanTheReferencesIsNotHeldAgainstIt) {
  before("a")["gradient/a"] = {1.0F, 0.4F, -0.6F, 2.2F, 5.0F};
  gradient("a") = {4.1F, 0.6F, -1.3F, 4.1F, 5.0F};

  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(GradientFingerprints, ASingleElementIsOfTheOnlyGradientThatDiffers) {
  gradient("a")[2] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(gradient("a")[2]) ^ 4U);
  const auto all = found();
  ASSERT_THAT(names_of(all), ElementsAre("one_bit"));
  EXPECT_EQ(all[0].words, "the gradient of a differs in a single bit");

  gradient("b") = unlike_;
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(GradientFingerprints, RoundingIsOfEveryGradientThatDiffers) {
  for (const char* name : {"a", "b"}) {
    for (float& value : gradient(name)) value = std::nextafter(value, 100.0F);
  }
  const auto all = found();
  ASSERT_THAT(names_of(all), ElementsAre("rounding"));
  EXPECT_EQ(all[0].words, "every gradient (2 of 4 gradients) is the reference's but for rounding");

  reference_["gradient/a"] = {0, 0, 0, 0};  // to which there is no ratio
  EXPECT_THAT(found(), IsEmpty());
}

}  // namespace
}  // namespace plumbline::testing
