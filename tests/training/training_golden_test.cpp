// SPDX-License-Identifier: BSD-3-Clause
// Optimizer, clipping and learning rate compared with transformers and torch.optim (fixtures/training_golden).
#include "tests/training/training_golden.hpp"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/parameter.hpp"
#include "training/optimizer.hpp"

namespace plumbline::testing {
namespace {

/// float64 sums of the same squares in different orders: 2000 roundings of 1.1e-16 in the worst case.
constexpr double fp64_sum_limit = 2.2e-13;

std::string summary(const std::string& what, const Comparison& found) {
  return what + ": " + std::to_string(found.differing) + " of " + std::to_string(found.elements) + " elements in " +
         std::to_string(found.tensors) + " tensors differ, by at most " + std::to_string(found.largest) +
         " of a tensor's largest";
}

class TrainingGoldens : public ::testing::TestWithParam<const char*> {
 protected:
  /// 0 ULP on the code path that made the golden, else its stated limit.
  void expect_close(const std::string& what, const Comparison& found, double measured, const char* limit) {
    EXPECT_GT(found.elements, 0);
    if (golden_.same_code_path()) {
      EXPECT_EQ(found.differing, 0) << summary(what, found);
      std::printf("  %s at 0 ULP: %lld tensors, %lld elements\n", what.c_str(), static_cast<long long>(found.tensors),
                  static_cast<long long>(found.elements));
    } else {
      EXPECT_LE(measured, golden_.json().at("limits").at(limit).get<double>()) << summary(what, found);
      std::printf("  %s within %s (another code path): %g\n", what.c_str(), limit, measured);
    }
  }
  void expect_norms(const Outcome& found) {
    const double limit = golden_.same_code_path() ? 0 : fp64_sum_limit;
    EXPECT_LE(found.norm_error, limit);
    EXPECT_LE(found.coefficient_error, limit);
  }

  TrainingGolden golden_{GetParam()};
};

TEST_P(TrainingGoldens, UpdateFromGivenGradients) {
  const Outcome found = update_with_golden_gradients(golden_);

  expect_norms(found);
  expect_close("parameters", found.parameters, found.parameters.largest, "update_relative_to_largest");
  expect_close("moments", found.moments, found.moments.largest, "update_relative_to_largest");
}

TEST_P(TrainingGoldens, LearningRate) {
  const TrainSettings train = golden_.train();

  const auto schedulers = golden_.json().at("scheduler_rates").get<std::vector<double>>();
  ASSERT_EQ(std::ssize(schedulers), train.steps);
  for (std::int64_t step = 0; step < train.steps; ++step) {
    const double rate = learning_rate(train, step);
    EXPECT_EQ(rate, golden_.number("rate", step)) << "step " << step;
    // torch's schedulers compute each rate from the previous one, so a few roundings of 1.1e-16 add up.
    const double torch = schedulers[static_cast<std::size_t>(step)];
    EXPECT_LE(std::abs(rate - torch), 1e-15 * torch) << "step " << step;
  }
}

TEST_P(TrainingGoldens, ClippingActsInSomeStepsAndAgreesWithTorch) {
  if (!golden_.train().clip_norm) {
    EXPECT_EQ(clip_coefficient(golden_.number("norm", 0), std::nullopt), 1.0);
    EXPECT_EQ(golden_.number("coefficient", 0), 1.0);
    return;
  }

  int acting = 0;
  for (std::int64_t step = 0; step < golden_.train().steps; ++step) {
    const double coefficient = clip_coefficient(golden_.number("norm", step), golden_.train().clip_norm);
    EXPECT_EQ(coefficient, golden_.number("coefficient", step)) << "step " << step;
    const double torch = golden_.number("torch_coefficient", step);
    acting += coefficient < 1 ? 1 : 0;
    // torch adds an epsilon of 1e-6 to norms of 2 and more here, and its fp32 norm has an error of about 1e-7.
    // For bfloat16 gradients it rounds each norm, the total norm and the coefficient to bfloat16: 2^-8 each.
    const double limit = golden_.dtype() == at::kBFloat16 ? 3 * 0x1p-8 : 2e-6;
    EXPECT_LE(std::abs(torch - coefficient), limit * coefficient) << "step " << step;
  }
  EXPECT_GT(acting, 0);
  EXPECT_LT(acting, golden_.train().steps);
}

INSTANTIATE_TEST_SUITE_P(, TrainingGoldens,
                         ::testing::Values("adamw_clip", "adamw_tied", "sgd_clip", "adamw_matrices", "sgd_matrices",
                                           "adamw_bfloat16", "sgd_bfloat16", "adamw_mixed", "sgd_mixed"),
                         [](const auto& given) { return std::string(given.param); });

/// Each must exceed the limits of the tests above, even on another code path.
struct Planted {
  const char* name;
  const char* golden;
  Mistake mistake;
};

void PrintTo(const Planted& planted, std::ostream* out) {
  *out << planted.name;
}

class PlantedMistakes : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedMistakes, AreDetected) {
  const TrainingGolden golden(GetParam().golden);

  const Outcome found = update_with_golden_gradients(golden, GetParam().mistake);

  const double limit = golden.json().at("limits").at("update_relative_to_largest").get<double>();
  const bool seen = found.parameters.largest > limit || found.moments.largest > limit ||
                    found.coefficient_error > fp64_sum_limit || found.norm_error > fp64_sum_limit;
  EXPECT_TRUE(seen) << summary("parameters", found.parameters);
}

void couple_weight_decay(std::vector<Parameter>& parameters) {
  const at::NoGradGuard no_grad;
  for (const Parameter& parameter : parameters) parameter.value.grad().add_(parameter.value, 0.1);
}

INSTANTIATE_TEST_SUITE_P(
    , PlantedMistakes,
    ::testing::Values(
        Planted{"Epsilon", "adamw_tied", {.settings = [](OptimizerSettings& s) { s.eps = 1e-8; }}},
        Planted{"Beta1", "adamw_clip", {.settings = [](OptimizerSettings& s) { s.beta1 = 0.901; }}},
        Planted{"Beta2", "adamw_clip", {.settings = [](OptimizerSettings& s) { s.beta2 = 0.991; }}},
        Planted{"NoWeightDecay", "adamw_clip", {.settings = [](OptimizerSettings& s) { s.weight_decay = 0; }}},
        Planted{"DecayOfNormsToo", "adamw_matrices", {.settings = [](OptimizerSettings& s) { s.decay = "all"; }}},
        Planted{"DecayOfNormsTooInSgd", "sgd_matrices", {.settings = [](OptimizerSettings& s) { s.decay = "all"; }}},
        Planted{"DecayOfMatricesAlone", "adamw_clip", {.settings = [](OptimizerSettings& s) { s.decay = "matrices"; }}},
        Planted{"WeightDecayInTheGradient",
                "adamw_clip",
                {.settings = [](OptimizerSettings& s) { s.weight_decay = 0; }, .gradients = couple_weight_decay}},
        Planted{"BiasCorrectionOneStepLate",
                "adamw_clip",
                {.state =
                     [](TrainState& state) {
                       for (const TrainedParameter& each : state.parameters) each.updates.add_(1);
                     }}},
        Planted{"ClippingForgotten", "adamw_clip", {.coefficient = [](double, double) { return 1.0; }}},
        Planted{"ClippingWithAnEpsilon",
                "sgd_clip",
                {.coefficient = [](double norm, double) { return std::min(1.0, 2.45 / (norm + 1e-6)); }}},
        Planted{"Momentum", "sgd_clip", {.settings = [](OptimizerSettings& s) { s.momentum = 0.899; }}},
        Planted{"NoWeightDecayInSgd", "sgd_clip", {.settings = [](OptimizerSettings& s) { s.weight_decay = 0; }}}),
    [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace plumbline::testing
