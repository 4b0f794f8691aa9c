// What is said where gradients are right: of their norm and of parameters that stay. And of the gradients of which a
// microbatch is missing, twice or another's.
#include "harness/sweep/fingerprint/fingerprints.hpp"
#include "tests/harness/sweep/fingerprint/dumped_runs.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class UpdateFingerprints : public DumpedRunsTest {
 protected:
  void norms(double reference, const std::map<std::int64_t, double>& by_rank,
             const std::map<std::int64_t, double>& own) {
    facts_.reference_norm = reference;
    facts_.norms = by_rank;
    facts_.own_norms = own;
  }
  void erase(const std::string& prefix) {
    for (Tensors& rank : ranks_) std::erase_if(rank, [&](const auto& each) { return each.first.starts_with(prefix); });
  }
};

// "Gradients are right" is what each of these sentences begins with.
TEST_F(UpdateFingerprints, NothingIsSaidOfANormWhereAnyGradientDiffers) {
  norms(5, {{0, 3}, {1, 4}}, {{0, 3}, {1, 4}});
  gradient("head") = {0.3F, 2.2F, 1.7F, -4.9F};

  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(UpdateFingerprints, NothingIsSaidOfANormWhereNoGradientWasDumped) {
  norms(5, {{0, 3}, {1, 4}}, {{0, 3}, {1, 4}});
  erase("gradient/");

  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(UpdateFingerprints, AGradientThatTheReferenceHasNotIsPassedOver) {
  norms(5, {{0, 3}, {1, 4}}, {{0, 3}, {1, 4}});
  ranks_[0]["gradient/extra"] = {1, 2};

  EXPECT_THAT(names_of(found()), ElementsAre("norm_of_own_stage"));
}

TEST_F(UpdateFingerprints, ANormThatIsNeitherIsNoKnownMistake) {
  facts_.tied = {{"embed", "head"}};
  norms(5, {{0, 3.5}, {1, 2}}, {{0, 3}, {1, 4}});

  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(UpdateFingerprints, ARankWithTheRightNormIsNotNamed) {
  norms(5, {{0, 5}, {1, 4}}, {{0, 5}, {1, 4}});

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("norm_of_own_stage"));
  EXPECT_EQ(all[0].evidence, "rank 1 has 4.0000; the norm of all is 5.0000");
}

TEST_F(UpdateFingerprints, WithoutOneOfTheNormsNothingIsSaid) {
  norms(5, {{0, 3}}, {});
  EXPECT_THAT(found(), IsEmpty());

  norms(0, {{0, 3}}, {{0, 3}});
  facts_.reference_norm.reset();
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(UpdateFingerprints, TheTiedWeightIsFoundAmongSeveralAndTheSquaresAreTold) {
  reference_["gradient/head"] = gradient("head") = {4, 0, 0, 0};
  facts_.tied = {{}, {"nowhere", "embed"}, {"head", "a"}};
  norms(3, {{0, 5}, {1, 5}}, {});

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("tied_counted_twice"));
  EXPECT_EQ(all[0].evidence, "norm 5.0000, the reference's 3.0000, ratio 1.6667; the squares differ by that of head");
}

TEST_F(UpdateFingerprints, ATiedWeightWithoutGradientIsCountedNowhereTwice) {
  reference_["gradient/head"] = gradient("head") = {0, 0, 0, 0};
  facts_.tied = {{"head", "embed"}};
  norms(3, {{0, 3 + 1e-9}}, {});

  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(UpdateFingerprints, ParametersThatStayAreCountedAmongThoseThatMove) {
  for (const char* name : {"a", "b"}) parameter(name) = before(name)["parameter/" + std::string(name)];
  // frozen in both runs
  reference_["parameter/head"] = parameter("head") = before("head")["parameter/head"];

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("not_updated"));
  EXPECT_EQ(all[0].words, "gradients are right, and a and 1 more are what it was before the step");
  EXPECT_EQ(all[0].evidence, "2 of 3 parameters that the reference moved");
}

TEST_F(UpdateFingerprints, WithoutTheStepBeforeOfEitherRunNoneIsSaidToStay) {
  parameter("head") = before("head")["parameter/head"];
  const auto kept = reference_before_;
  reference_before_.clear();
  EXPECT_THAT(found(), IsEmpty());

  reference_before_ = kept;
  reference_.erase("parameter/head");
  EXPECT_THAT(found(), IsEmpty());
  reference_["parameter/head"] = gradient("head");
  ranks_before_[1].clear();
  EXPECT_THAT(found(), IsEmpty());
}

class MicrobatchFingerprints : public UpdateFingerprints {
 protected:
  void twice(const std::string& name, int microbatch) { gradient(name) = plus(gradient(name), part(name, microbatch)); }
  const Values unlike_{0.3F, 2.2F, 1.7F, -4.9F};
};

// Where gradients differ, so do the parameters that were updated by them.
TEST_F(MicrobatchFingerprints, AreFoundWhereMoreThanTheGradientsDiffers) {
  dump_after_each_microbatch();
  twice("a", 1);
  parameter("a") = unlike_;
  ranks_[0]["gradient/extra"] = unlike_;

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("microbatch_twice"));
  EXPECT_THAT(all[0].evidence, HasSubstr("over 1 gradients that differ"));
}

// The dumps hold what each use of it adds, and not their sum.
TEST_F(MicrobatchFingerprints, OfATiedWeightAreNotLookedFor) {
  dump_after_each_microbatch();
  facts_.tied = {{"embed", "head"}};
  twice("a", 1);
  gradient("embed") = unlike_;

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("microbatch_twice"));
  EXPECT_THAT(all[0].evidence, HasSubstr("over 1 gradients that differ"));
}

TEST_F(MicrobatchFingerprints, HaveToFitInEveryElement) {
  dump_after_each_microbatch();
  gradient("a") = unlike_;
  gradient("a")[0] = reference_["gradient/a"][0] + part("a", 1)[0];

  EXPECT_THAT(found(), IsEmpty());
}

// Of 10000 elements every third is looked at; microbatch 2 adds nothing.
TEST_F(MicrobatchFingerprints, ADifferenceThatWasNotLookedAtIsOfNoMicrobatch) {
  dump_after_each_microbatch();
  for (auto& [key, values] : reference_) {
    if (key.ends_with("/a")) values.resize(10000, 0.0F);
  }
  gradient("a") = reference_["gradient/a"];
  gradient("a")[1] += 1;

  EXPECT_THAT(names_of(found()), ElementsAre("one_element"));
}

TEST_F(MicrobatchFingerprints, AreOfTwoMicrobatchesAtLeast) {
  dump_after_each_microbatch();
  facts_.microbatches = 1;
  reference_["gradient_after/0/a"] = reference_["gradient/a"];
  gradient("a") = {0, 0, 0, 0};
  EXPECT_THAT(names_of(found()), ElementsAre("zero_gradients"));

  facts_.microbatches = 2;
  gradient("a") = plus(reference_["gradient/a"], part("a", 1));
  dump_after_each_microbatch();
  EXPECT_THAT(names_of(found()), ElementsAre("microbatch_twice"));
}

TEST_F(MicrobatchFingerprints, TheOneThatIsAloneIsTheLastOneOnlyWhereItIs) {
  dump_after_each_microbatch();
  for (const char* name : {"embed", "a", "b", "head"}) gradient(name) = part(name, 0);

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("one_microbatch_only"));
  EXPECT_THAT(all[0].words, EndsWith("those of microbatch 0 alone"));
}

TEST_F(MicrobatchFingerprints, ALaterOneInPlaceOfAnotherIsNamedWithBoth) {
  dump_after_each_microbatch();
  twice("a", 3);
  gradient("a") = plus(gradient("a"), times(part("a", 1), -1));

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("microbatch_of_another"));
  EXPECT_THAT(all[0].words, HasSubstr("what microbatch 3 adds in place of what microbatch 1 adds"));
}

}  // namespace
}  // namespace plumbline::testing
