// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <cmath>

#include "harness/judge/predicates/forms.hpp"

namespace plumbline::predicates {
namespace {

using ::testing::Contains;

TEST(RightCoefficients, IncludeTheLimitRoundedAsByTorch) {
  Manifest manifest;
  manifest.dtype = "float32";
  manifest.clip_norm = 0.6;
  manifest.norm_order = "per_rank";
  manifest.clip_epsilon = 1e-6;
  const double of_torch = 0.05941339209675789,
               next = 0.05941339582204819;  // 0.6 / (tensor(norm) + 1e-6), and one above

  const auto right = right_coefficients(10.098732948303223, manifest);

  EXPECT_THAT(right, Contains(of_torch));
  EXPECT_THAT(right, ::testing::Not(Contains(next)));
}

/// 0.1 / 61, by division and by reciprocal, in each precision: six different numbers.
struct Coefficients {
  std::string name, dtype, norm_order;
  double epsilon;
  std::vector<double> right, wrong;
};

void PrintTo(const Coefficients& of, std::ostream* out) {
  *out << of.name;
}

class RightCoefficientsOf : public ::testing::TestWithParam<Coefficients> {};

constexpr double divided = 0.001639344262295082, by_reciprocal = 0.0016393442622950822;
constexpr double divided32 = 0.0016393442638218403, by_reciprocal32 = 0.0016393441474065185;
constexpr double divided16 = 0.00164031982421875, by_reciprocal16 = 0.0016326904296875;

INSTANTIATE_TEST_SUITE_P(
    , RightCoefficientsOf,
    ::testing::Values(
        Coefficients{"canonical", "bfloat16", "canonical", 0, {divided}, {by_reciprocal, divided32, divided16}},
        Coefficients{"per_rank",
                     "bfloat16",
                     "per_rank",
                     0,
                     {divided, by_reciprocal, divided32, by_reciprocal32, divided16, by_reciprocal16},
                     {0.0016}},
        Coefficients{"of_another_dtype",
                     "float16",
                     "per_rank",
                     0,
                     {divided, by_reciprocal, divided32, by_reciprocal32},
                     {divided16, by_reciprocal16}},
        Coefficients{"canonical_with_epsilon", "float32", "canonical", 1, {0.1 / 62}, {divided, divided32}}),
    [](const auto& tested) { return tested.param.name; });

TEST_P(RightCoefficientsOf, CoverItsPrecisions) {
  Manifest manifest;
  manifest.dtype = GetParam().dtype;
  manifest.clip_norm = 0.1;
  manifest.norm_order = GetParam().norm_order;
  manifest.clip_epsilon = GetParam().epsilon;

  const auto right = right_coefficients(61, manifest);

  for (const double each : GetParam().right) EXPECT_THAT(right, Contains(each));
  for (const double each : GetParam().wrong) EXPECT_THAT(right, ::testing::Not(Contains(each)));
  for (const double each : right_coefficients(0.01, manifest)) EXPECT_LE(each, 1) << "clipping never enlarges";
}

TEST(RightCoefficients, AreNanForANanNorm) {
  Manifest manifest;
  manifest.norm_order = "per_rank";
  manifest.dtype = "float32";
  EXPECT_THAT(right_coefficients(NAN, manifest), ::testing::ElementsAre(1)) << "without clipping it is 1";
  manifest.clip_norm = 1;
  EXPECT_THAT(right_coefficients(NAN, manifest), ::testing::ElementsAre(::testing::IsNan()));
}

}  // namespace
}  // namespace plumbline::predicates
