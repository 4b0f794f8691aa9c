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
  EXPECT_TRUE(form.bounds(filled, 1, 5).parameter.admit(2 - 0.5 * 5));
  EXPECT_FALSE(form.bounds(filled, 1, 5).parameter.admit(2 - 0.5 * 5.5));
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
