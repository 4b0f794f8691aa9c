// SPDX-License-Identifier: BSD-3-Clause
// Detection power: one element at a time, with every mistake that a step can make.
#include "harness/judge/audit/power.hpp"

#include <gmock/gmock.h>

namespace plumbline::auditing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

OptimizerForm sgd(double momentum) {
  OptimizerForm form;
  form.momentum = momentum;
  return form;
}

OptimizerForm adamw() {
  OptimizerForm form;
  form.adamw = true;
  form.beta1 = 0.9, form.beta2 = 0.99, form.eps = 1e-8;
  return form;
}

constexpr double nothing_moves = 1e-30;  // a rate

/// Of one element in float32 and in step 1.
Power weighed(const OptimizerForm& form, const StepNumbers& numbers, const Element<double>& before, double gradient) {
  const StepForm<double> step(form, Storage::float32, numbers.rate, numbers.step);
  Mistakes<double> mistakes(form, Storage::float32, numbers);
  const double clipped = gradient * numbers.coefficient;
  mistakes.weigh(before, gradient, clipped, step.bounds(before, clipped, std::nullopt));
  Power power;
  mistakes.add_to(power);
  mistakes.add_to(power);  // has begun again: adds nothing
  EXPECT_EQ(power.elements, 1);
  return power;
}

TEST(Mistakes, ShowInParameterOrFirstMomentWhereTheStepMovesThem) {
  for (const auto& [momentum, rate, moment, tells] :
       {std::tuple{0.0, nothing_moves, 0.0, 0}, {0.0, 0.1, 0.0, 1}, {0.9, nothing_moves, 0.5, 1}}) {
    const Power power = weighed(sgd(momentum), {1, rate, std::nullopt, 1}, {1, moment, 0}, 1);
    EXPECT_THAT(power.tells, ElementsAre(Pair("applied twice", tells), Pair("no update", tells))) << momentum << rate;
  }
}

TEST(Mistakes, ShowInTheSecondMomentAlone) {
  // The first moment is the gradient, and stays.
  const Power power = weighed(adamw(), {1, nothing_moves, std::nullopt, 1}, {1, 0.5, 2}, 0.5);

  EXPECT_THAT(power.tells, ElementsAre(Pair("applied twice", 1), Pair("moments exchanged", 1), Pair("no update", 1)));
}

TEST(Mistakes, ArePossibleWhereTheStepHasWhatTheyGetWrong) {
  OptimizerForm form = sgd(0);
  form.weight_decay = 0.5;

  EXPECT_THAT(weighed(form, {1, 0.1, 0.2, 0.5}, {1, 0, 0}, 1).tells,
              ElementsAre(Pair("applied twice", 1), Pair("gradient not clipped", 1), Pair("no update", 1),
                          Pair("no weight decay", 1), Pair("the last step's rate", 1)));
  EXPECT_THAT(weighed(form, {1, 0.1, 0.1, 1}, {1, 0, 0}, 1).tells,
              ElementsAre(Pair("applied twice", 1), Pair("no update", 1), Pair("no weight decay", 1)));
}

TEST(KindOfParameter, HasAStarForEachNumberBetweenDots) {
  EXPECT_EQ(kind_of_parameter("model.layers.3.mlp.up_proj.weight"), "layers.*.mlp.up_proj.weight");
  EXPECT_EQ(kind_of_parameter("model.layers.12.mlp.up_proj.weight"), "layers.*.mlp.up_proj.weight");
  EXPECT_EQ(kind_of_parameter("h.10.norm2.weight"), "h.*.norm2.weight");
  EXPECT_EQ(kind_of_parameter("0.blocks.7"), "0.blocks.*");
  EXPECT_EQ(kind_of_parameter("stack.12"), "stack.*");
}

TEST(WhatItCannotSee, AreKindsWithoutATellAndMistakesWithoutAKind) {
  Audit audit;
  EXPECT_THAT(what_it_cannot_see(audit), IsEmpty());

  audit.power["blind"] = {4, {{"no update", 0}, {"applied twice", 0}}};
  audit.power["seeing"] = {4, {{"applied twice", 0}, {"no update", 1}}};
  EXPECT_THAT(what_it_cannot_see(audit), ElementsAre("no mistake of the optimiser would be detected in blind",
                                                     "\"applied twice\" would be detected in no parameter"));

  audit.power["other"] = {4, {{"applied twice", 1}}};
  audit.power["blind"].tells["no update"] = 1;
  EXPECT_THAT(what_it_cannot_see(audit), IsEmpty());
}

}  // namespace
}  // namespace plumbline::auditing
