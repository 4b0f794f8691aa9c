// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/audit/optimizer_form.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace plumbline::auditing {
namespace {

using ::testing::HasSubstr;

Json sgd_with(const std::string& key, const Json& value) {
  Json optimizer = {{"name", "sgd"}, {"learning_rate", 0.1}, {"momentum", 0.9}, {"weight_decay", 0.0}};
  optimizer[key] = value;
  return optimizer;
}

TEST(OptimizerForm, VariantsOfAKnownOneHaveNone) {
  for (const auto& [key, value] : std::map<std::string, Json>{
           {"nesterov", true}, {"dampening", 0.5}, {"maximize", true}, {"amsgrad", true}, {"groups", 2}}) {
    EXPECT_FALSE(optimizer_form(sgd_with(key, value))) << key;
    EXPECT_THAT(why_no_form(sgd_with(key, value)), HasSubstr("no formula is known for sgd with " + key));
  }
  EXPECT_THAT(why_no_form({{"name", "lion"}}), HasSubstr("no formula is known for lion"));
}

TEST(OptimizerForm, KeysThatSayNothingOfThemChangeNothing) {
  for (const Json& value : {Json(false), Json(0), Json(0.0), Json(nullptr)}) {
    EXPECT_TRUE(optimizer_form(sgd_with("nesterov", value))) << value;
    EXPECT_EQ(why_no_form(sgd_with("dampening", value)), "");
  }
  EXPECT_EQ(optimizer_form(sgd_with("decay", "matrices"))->momentum, 0.9);
}

TEST(OptimizerForm, TakesItsNumbersFromTheManifest) {
  const auto adamw = optimizer_form({{"name", "adamw"},
                                     {"learning_rate", 0.1},
                                     {"beta1", 0.5},
                                     {"beta2", 0.75},
                                     {"eps", 0.125},
                                     {"weight_decay", 0.25},
                                     {"decay", "matrices"}});

  ASSERT_TRUE(adamw);
  EXPECT_TRUE(adamw->adamw);
  EXPECT_EQ(adamw->beta1, 0.5);
  EXPECT_EQ(adamw->beta2, 0.75);
  EXPECT_EQ(adamw->eps, 0.125);
  EXPECT_EQ(form_for(*adamw, {4, 4}).weight_decay, 0.25);
  EXPECT_EQ(form_for(*adamw, {4}).weight_decay, 0) << "a norm is no matrix";
  EXPECT_FALSE(optimizer_form(sgd_with("weight_decay", 0.25))->adamw);
  EXPECT_EQ(form_for(*optimizer_form(sgd_with("weight_decay", 0.25)), {4}).weight_decay, 0.25);
  EXPECT_THAT(why_no_form(Json::object()), HasSubstr("no formula is known for it"));
}

OptimizerForm sgd_form(double momentum, double weight_decay) {
  OptimizerForm form;
  form.momentum = momentum;
  form.weight_decay = weight_decay;
  return form;
}

OptimizerForm adamw_form() {
  OptimizerForm form;
  form.adamw = true;
  form.beta1 = 0.5;
  form.beta2 = 0.75;
  form.eps = 0.125;
  form.weight_decay = 0.25;
  return form;
}

// Numbers that are exact in every dtype.
constexpr Element<double> filled{2, 8, 4};

TEST(StepForm, OfSgdIsTorchs) {
  const auto first = StepForm<double>(sgd_form(0.5, 0.25), Storage::float32, 0.5, 0).exact(filled, 1);
  const auto later = StepForm<double>(sgd_form(0.5, 0.25), Storage::float32, 0.5, 1).exact(filled, 1);

  EXPECT_EQ(first.moment1, 1.5) << "gradient and decay: the buffer begins with the first step";
  EXPECT_EQ(first.parameter, 2 - 0.5 * 1.5);
  EXPECT_EQ(later.moment1, 0.5 * 8 + 1.5);
  EXPECT_EQ(later.parameter, 2 - 0.5 * 5.5);
}

TEST(StepForm, OfAdamwCorrectsItsMomentsByTheNumberOfSteps) {
  for (const std::int64_t step : {0, 1, 4}) {
    const auto after = StepForm<double>(adamw_form(), Storage::float32, 0.5, step).exact(filled, 3);

    const double steps = static_cast<double>(step + 1), moment1 = 0.5 * 8 + 0.5 * 3, moment2 = 0.75 * 4 + 0.25 * 9;
    const double corrected = moment1 / (1 - std::pow(0.5, steps));
    const double root = std::sqrt(moment2 / (1 - std::pow(0.75, steps))) + 0.125;
    EXPECT_EQ(after.moment1, moment1);
    EXPECT_EQ(after.moment2, moment2);
    EXPECT_DOUBLE_EQ(after.parameter, (1 - 0.5 * 0.25) * 2 - 0.5 * corrected / root);
  }
}

TEST(StepForm, OfSgdAdmitsABufferThatBeginsWithTheFirstStep) {
  const auto first = StepForm<double>(sgd_form(0.5, 0.25), Storage::float32, 0.5, 0).bounds(filled, 1, {});
  const auto later = StepForm<double>(sgd_form(0.5, 0.25), Storage::float32, 0.5, 1).bounds(filled, 1, {});

  EXPECT_TRUE(first.moment1.admit(1.5));
  EXPECT_FALSE(first.moment1.admit(5.5));
  EXPECT_TRUE(later.moment1.admit(5.5));
  EXPECT_FALSE(later.moment1.admit(1.5));
}

TEST(StepForm, OfSgdTheParameterFollowsFromTheBufferThatWasRecorded) {
  const StepForm<double> form(sgd_form(0.5, 0.25), Storage::float32, 0.5, 1);

  EXPECT_TRUE(form.bounds(filled, 1, {}).parameter.admit(2 - 0.5 * 5.5));
  EXPECT_TRUE(form.bounds(filled, 1, Element<double>{0, 5, 0}).parameter.admit(2 - 0.5 * 5));
  EXPECT_FALSE(form.bounds(filled, 1, Element<double>{0, 5, 0}).parameter.admit(2 - 0.5 * 5.5));
}

/// The third step of torch.optim.AdamW(foreach=False) in bfloat16, as torch 2.15.0 made it on a CPU: rate 3e-3, betas
/// 0.9 and 0.999, eps 1e-8, decay 0.1. The fused form gives another number for each of these.
struct UnfusedStep {
  Element<double> before;
  double gradient;
  Element<double> after;
};
constexpr UnfusedStep unfused_steps[] = {
    {{-0.1611328125, -0.0011138916015625, 8.568167686462402e-08},
     0.007171630859375,
     {-0.1611328125, -0.000286102294921875, 1.3690441846847534e-07}},
    {{0.055419921875, 0.00035858154296875, 2.775341272354126e-07},
     0.0155029296875,
     {0.053955078125, 0.0018768310546875, 5.178153514862061e-07}},
    {{-0.83984375, -0.00016880035400390625, 2.514570951461792e-08},
     -0.0052490234375,
     {-0.83984375, -0.000675201416015625, 5.2619725465774536e-08}},
    {{-0.09716796875, 0.002105712890625, 2.9616057872772217e-07},
     -0.0069580078125,
     {-0.0986328125, 0.00119781494140625, 3.4458935260772705e-07}},
    {{-0.154296875, -0.00061798095703125, 3.655441105365753e-08},
     -0.0166015625,
     {-0.15234375, -0.0022125244140625, 3.129243850708008e-07}},
    {{-0.7890625, 0.0019378662109375, 2.998858690261841e-07},
     -0.00677490234375,
     {-0.7890625, 0.001068115234375, 3.46451997756958e-07}},
    {{-0.28515625, 0.0004444122314453125, 3.67872416973114e-08},
     0.004852294921875,
     {-0.287109375, 0.000885009765625, 6.05359673500061e-08}},
    {{-0.3125, 0.00072479248046875, 1.3969838619232178e-07},
     -0.0079345703125,
     {-0.3125, -0.000141143798828125, 2.0302832126617432e-07}},
};

TEST(StepForm, OfUnfusedAdamwAdmitsWhatItsKernelsStore) {
  OptimizerForm form = adamw_form();
  form.beta1 = 0.9, form.beta2 = 0.999, form.eps = 1e-8, form.weight_decay = 0.1;
  for (const auto& [before, gradient, after] : unfused_steps) {
    form.fused = false;
    const auto unfused = StepForm<double>(form, Storage::bfloat16, 3e-3, 2).bounds(before, gradient, after);
    EXPECT_TRUE(unfused.parameter.admit(after.parameter)) << before.parameter;
    EXPECT_TRUE(unfused.moment1.admit(after.moment1)) << before.parameter;
    EXPECT_TRUE(unfused.moment2.admit(after.moment2)) << before.parameter;
    EXPECT_FALSE(unfused.parameter.admit(after.parameter * (1 + 0x1p-5))) << before.parameter;

    form.fused = true;
    const auto fused = StepForm<double>(form, Storage::bfloat16, 3e-3, 2).bounds(before, gradient, after);
    EXPECT_FALSE(fused.parameter.admit(after.parameter) && fused.moment2.admit(after.moment2)) << before.parameter;
  }
}

// Measured on an H100 (torch 2.11.0): the first step's second moments were 0.9999871 of (1 - 0.999) g^2.
TEST(OptimizerFormOf, FusedAdamwOnAGpuHasItsBetasInFloat32) {
  Manifest manifest;
  manifest.json["optimizer"] = {
      {"name", "adamw"}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", 0}};
  const auto second_moment = [&](const std::string& device, const std::string& dtype, const std::string& ran) {
    manifest.device = device, manifest.dtype = dtype;
    manifest.json["optimizer"]["implementation"] = ran;
    return StepForm<double>(*optimizer_form(manifest), Storage::float32, 0.1, 0).exact({1, 0, 0}, 1).moment2;
  };
  for (const std::string dtype : {"float32", "bfloat16", "mixed"}) {
    EXPECT_NEAR(second_moment("cuda", dtype, "fused"), 0.001 * 0.9999871, 1e-10) << dtype;
  }
  EXPECT_NEAR(second_moment("cuda", "float64", "fused"), 0.001, 1e-15);
  EXPECT_NEAR(second_moment("cpu", "float32", "fused"), 0.001, 1e-15);
  EXPECT_NEAR(second_moment("cuda", "float32", "foreach"), 0.001, 1e-15);
}

TEST(OptimizerFormOf, ARunIsRecomputedWhereItSaysWhichFormRan) {
  const auto why = [](const std::string& role, const std::string& dtype, const std::string& name, const Json& ran) {
    Manifest manifest;
    manifest.set_role(role), manifest.dtype = dtype;
    manifest.json["optimizer"] = {{"name", name}};
    if (!ran.is_null()) manifest.json["optimizer"]["implementation"] = ran;
    return why_not_recomputed(manifest);
  };
  for (const char* known : {"single_tensor", "foreach", "fused"})
    EXPECT_EQ(why("external", "bfloat16", "adamw", known), "");
  EXPECT_EQ(why("external", "float32", "adamw", nullptr), "");
  EXPECT_EQ(why("pipeline", "bfloat16", "adamw", nullptr), "");
  EXPECT_EQ(why("external", "bfloat16", "sgd", nullptr), "");
  EXPECT_THAT(why("external", "bfloat16", "adamw", nullptr), HasSubstr("does not say which form of adamw ran"));
  EXPECT_THAT(why("external", "bfloat16", "sgd", "fused"), HasSubstr("fused sgd in bfloat16"));
  EXPECT_THAT(why("external", "float32", "adamw", "capturable"), HasSubstr("implementation = \"capturable\""));
}

// What is not done rounds nothing: the first buffer without decay is the gradient itself.
TEST(StepForm, OfSgdWithoutDecayOrMomentumAdmitsNoRoundingOfThem) {
  const auto first = StepForm<double>(sgd_form(0.5, 0), Storage::float32, 0.5, 0).bounds(filled, 1, {});
  const auto plain = StepForm<double>(sgd_form(0, 0), Storage::float32, 0.5, 1).bounds({2, 0, 0}, 1, {});

  EXPECT_EQ(first.moment1.lowest, 1);
  EXPECT_EQ(first.moment1.highest, 1);
  const Bounds one_addition = bounds_of(Storage::float32, Sum<double>{2 - 0.5, 2 + 0.5});
  EXPECT_EQ(plain.parameter.lowest, one_addition.lowest);
  EXPECT_EQ(plain.parameter.highest, one_addition.highest);
}

}  // namespace
}  // namespace plumbline::auditing
