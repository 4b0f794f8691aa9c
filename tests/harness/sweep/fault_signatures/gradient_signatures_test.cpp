// SPDX-License-Identifier: BSD-3-Clause
// Signatures of parameter gradients that differ from the reference's.
#include <bit>
#include <cmath>

#include "tests/harness/sweep/fault_signatures/dumped_runs.hpp"

namespace plumbline::testing {
namespace {

class GradientFingerprints : public DumpedRunsTest {
 protected:
  /// Sets a gradient of both runs.
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

TEST_F(GradientFingerprints, StagesAreNamed) {
  struct Case {
    std::map<std::string, std::int64_t> stage_of;
    std::vector<std::string> scaled;
    std::string words;
  };
  const std::map<std::string, std::int64_t> four{{"embed", 0}, {"a", 1}, {"b", 2}, {"head", 4}};
  for (const auto& [stage_of, scaled, words] :
       {Case{four, {"b"}, "stage 2"}, Case{four, {"a", "b"}, "stages 1-2"}, Case{four, {"embed", "b"}, "stages 0, 2"},
        // of which the record has no table: the rank's number
        Case{{{"embed", 2}, {"a", 2}}, {"b"}, "stage 1"}}) {
    facts_.stage_of = stage_of;
    for (const auto& name : scaled) gradient(name) = times(gradient(name), 24);

    const auto all = found();

    ASSERT_THAT(names_of(all), ElementsAre("not_normalised_by_tokens"));
    EXPECT_THAT(all[0].words, HasSubstr("gradients of " + words + " are 24.0000 x"));
    for (const auto& name : scaled) gradient(name) = reference_["gradient/" + name];
  }
}

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
  EXPECT_THAT(all[0].words, HasSubstr("0.7371 x the reference's; it is neither"));
  EXPECT_THAT(all[0].evidence, ::testing::ContainsRegex("largest residual [12]\\.[0-9]+e-06"));
}

TEST_F(GradientFingerprints, AZeroGradientThatIsAloneIsNamed) {
  gradient("a") = {0, 0, 0, 0};

  const auto all = found();

  ASSERT_THAT(names_of(all), ElementsAre("zero_gradients"));
  EXPECT_EQ(all[0].words, "gradients of stage 0 are all zero, the reference's are not (a)");
  EXPECT_EQ(all[0].evidence, "1 of 4 gradients");
  gradient("b") = {0, 0, 0, 0};
  EXPECT_THAT(found().at(0).words, EndsWith("the reference's are not"));
}

TEST_F(GradientFingerprints, ZerosOfAnotherSignAreNoDetachedGraph) {
  reference_["gradient/a"] = {0, 0, 0, 0};
  gradient("a") = {-0.0F, -0.0F, -0.0F, -0.0F};

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
  EXPECT_EQ(all[0].words, "every gradient (2 of 4 gradients) differs from the reference's by rounding alone");

  reference_["gradient/a"] = {0, 0, 0, 0};  // to which there is no ratio
  EXPECT_THAT(found(), IsEmpty());
}

}  // namespace
}  // namespace plumbline::testing
