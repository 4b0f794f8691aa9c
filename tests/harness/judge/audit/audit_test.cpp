// SPDX-License-Identifier: BSD-3-Clause
// Recomputation of whole records: correct ones of every dtype and optimiser, and the same with one mistake that both
// trainers share.
#include "harness/judge/audit/audit.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "harness/judge/audit/clipping_form.hpp"
#include "harness/judge/audit/power.hpp"
#include "tests/harness/judge/audit/trained_run.hpp"

namespace plumbline::auditing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::IsEmpty;
using testing::Mistake;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::TrainedRun;

struct Kind {
  std::string dtype, optimizer;
  bool tied;
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.dtype << ", " << kind.optimizer << (kind.tied ? ", tied" : ", untied");
}

std::string name_of_kind(const ::testing::TestParamInfo<Kind>& info) {
  return info.param.dtype + "_" + info.param.optimizer + (info.param.tied ? "_tied" : "_untied");
}

class AuditOfEachKind : public ::testing::TestWithParam<Kind> {
 protected:
  Audit audit(Mistake mistake) {
    const auto plan = testing::trained_plan(GetParam().optimizer, GetParam().tied);
    TrainedRun trained{testing::synthetic_candidate(plan), GetParam().dtype, mistake};
    return audit_record(trained.write(folder_ / std::to_string(static_cast<int>(mistake))));
  }

  /// Some finding is of this part of the step, and no earlier step has one.
  static void expect_first(const Audit& found, const std::string& level, std::int64_t step, const std::string& item) {
    ASSERT_FALSE(found.findings.empty());
    bool seen = false;
    for (const Finding& finding : found.findings) {
      EXPECT_GE(finding.step, step) << words_of(finding);
      seen = seen || (finding.level == level && finding.step == step && finding.item.starts_with(item));
    }
    EXPECT_TRUE(seen) << words_of(found.findings.front());
  }

  bool adamw() const { return GetParam().optimizer == "adamw"; }

  TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(, AuditOfEachKind,
                         ::testing::Values(Kind{"float32", "adamw", true}, Kind{"float32", "adamw", false},
                                           Kind{"float32", "sgd", true}, Kind{"float32", "sgd", false},
                                           Kind{"float64", "adamw", true}, Kind{"float64", "adamw", false},
                                           Kind{"float64", "sgd", true}, Kind{"float64", "sgd", false},
                                           Kind{"bfloat16", "adamw", true}, Kind{"bfloat16", "adamw", false},
                                           Kind{"bfloat16", "sgd", true}, Kind{"bfloat16", "sgd", false}),
                         name_of_kind);

TEST_P(AuditOfEachKind, FindsNothingInARightRecordAndCouldHaveSeenAllMistakes) {
  const Audit right = audit(Mistake::none);

  for (const Finding& finding : right.findings) ADD_FAILURE() << words_of(finding);
  EXPECT_THAT(right.not_audited, IsEmpty());
  EXPECT_TRUE(right.from_values);
  EXPECT_THAT(what_it_cannot_see(right), IsEmpty());
  EXPECT_GT(right.recomputed.at("updated_elements"), 0);
  EXPECT_EQ(right.recomputed.count("tied_sums"), GetParam().tied ? 1 : 0);
}

TEST_P(AuditOfEachKind, EachMistakeIsRedWhereItBegins) {
  struct Case {
    Mistake mistake;
    const char* level;
    std::int64_t step;
    const char* item;
    bool made = true;  ///< of this kind of run
  };
  const bool tied = GetParam().tied;
  const std::vector<Case> cases = {{Mistake::rate_a_step_early, part::learning_rate, 0, "learning_rate"},
                                   {Mistake::last_rate_applied, part::parameter, 1, "parameter"},
                                   {Mistake::clip_not_applied, part::parameter, 0, "moment1"},
                                   {Mistake::clip_with_epsilon, part::norm, 0, "clip_coefficient"},
                                   {Mistake::applied_twice, part::parameter, 0, "moment1"},
                                   {Mistake::no_update, part::parameter, 0, "moment1"},
                                   {Mistake::no_weight_decay, part::parameter, 0, adamw() ? "parameter" : "moment1"},
                                   {Mistake::moments_exchanged, part::parameter, 0, "moment1", adamw()},  // SGD has one
                                   {Mistake::decay_into_gradient, part::parameter, 0, "moment1", adamw()},
                                   {Mistake::eps_inside_the_root, part::parameter, 0, "parameter", adamw()},
                                   {Mistake::norm_counts_tied_twice, part::norm, 0, "gradient_norm", tied},
                                   {Mistake::tied_use_dropped, part::gradient, 0, "gradient", tied}};
  for (const auto& [mistake, level, step, item, made] : cases) {
    SCOPED_TRACE(static_cast<int>(mistake));
    if (made) expect_first(audit(mistake), level, step, item);
  }
}

TEST_P(AuditOfEachKind, DecayOfMatricesAloneAndAFinalFactorAreFollowed) {
  if (GetParam().dtype == "bfloat16") return;  // in which a norm's decay is lost in rounding
  const auto audited = [&](Mistake mistake) {
    TrainedRun trained{testing::synthetic_candidate(testing::trained_plan(GetParam().optimizer, GetParam().tied)),
                       GetParam().dtype, mistake};
    trained.decays_matrices_alone = true;
    trained.final_factor = 0.5;
    return audit_record(trained.write(folder_ / ("matrices" + std::to_string(static_cast<int>(mistake)))));
  };
  const Audit right = audited(Mistake::none);
  for (const Finding& finding : right.findings) ADD_FAILURE() << words_of(finding);

  const Audit wrong = audited(Mistake::decay_of_norms);

  ASSERT_FALSE(wrong.findings.empty());
  for (const Finding& finding : wrong.findings) EXPECT_THAT(finding.item, ::testing::HasSubstr("norm"));
}

TEST_P(AuditOfEachKind, BiasCorrectionLeftOutIsRed) {
  if (!adamw()) return;

  const Audit found = audit(Mistake::no_bias_correction);

  // With these betas the two corrections cancel in the first step, but for epsilon and rounding.
  EXPECT_THAT(found.findings, Contains(AllOf(Field(&Finding::level, part::parameter), Field(&Finding::step, 1),
                                             Field(&Finding::item, StartsWith("parameter ")))));
}

TEST(RightCoefficients, LimitThatFloat32RoundsIsRightAsTorchRoundsIt) {
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

/// 0.1 / 61, by division and by reciprocal, in each precision: six numbers, of which no two are the same.
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

TEST_P(RightCoefficientsOf, AreThoseOfItsPrecisions) {
  Manifest manifest;
  manifest.dtype = GetParam().dtype;
  manifest.clip_norm = 0.1;
  manifest.norm_order = GetParam().norm_order;
  manifest.clip_epsilon = GetParam().epsilon;

  const auto right = right_coefficients(61, manifest);

  for (const double each : GetParam().right) EXPECT_THAT(right, Contains(each));
  for (const double each : GetParam().wrong) EXPECT_THAT(right, ::testing::Not(Contains(each)));
  for (const double each : right_coefficients(0.01, manifest)) EXPECT_LE(each, 1) << "nothing is made larger";
}

TEST(RightCoefficients, AreNotANumberForANormThatIsNone) {
  Manifest manifest;
  manifest.norm_order = "per_rank";
  manifest.dtype = "float32";
  EXPECT_THAT(right_coefficients(NAN, manifest), ::testing::ElementsAre(1)) << "nothing is clipped";
  manifest.clip_norm = 1;
  EXPECT_THAT(right_coefficients(NAN, manifest), ::testing::ElementsAre(::testing::IsNan()));
}

}  // namespace
}  // namespace plumbline::auditing
