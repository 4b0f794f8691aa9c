// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "harness/judge/predicates/forms.hpp"

namespace plumbline::testing {
namespace {

Json schedule(double final_factor) {
  return {{"warmup_steps", 10}, {"start_factor", 0.25}, {"final_factor", final_factor}, {"total_steps", 2000}};
}
const Json optimizer = {{"name", "sgd"}, {"learning_rate", 1e-3}};

// Compares bits, in a run so long that another order of operations gives other digits near its end.
TEST(LearningRateForm, MatchesTheContractToTheLastBit) {
  const auto form = predicates::learning_rate_form(optimizer, schedule(0));

  ASSERT_TRUE(form);
  for (std::int64_t t = 0; t < 2000; ++t) {
    const double done = (static_cast<double>(t) - 10) / (2000.0 - 10);
    const double rate = t < 10 ? 1e-3 * (0.25 + (1 - 0.25) * static_cast<double>(t) / 10)
                               : 1e-3 * (1 + std::cos(std::numbers::pi * done)) / 2;
    EXPECT_EQ(form->at(t), rate) << t;
  }
}

TEST(LearningRateForm, GoesDownToTheFinalFactor) {
  const auto form = predicates::learning_rate_form(optimizer, schedule(0.1));

  ASSERT_TRUE(form);
  EXPECT_DOUBLE_EQ(form->at(10), 1e-3);
  EXPECT_DOUBLE_EQ(form->at(2000), 1e-4);
  EXPECT_DOUBLE_EQ(form->at(10 + 1990 / 2), 5.5e-4) << "halfway from 1 to 0.1";
}

TEST(LearningRateForm, IsAbsentIfANumberIsMissing) {
  for (const char* key : {"warmup_steps", "start_factor", "final_factor", "total_steps"}) {
    Json lacking = schedule(0);
    lacking.erase(key);
    EXPECT_FALSE(predicates::learning_rate_form(optimizer, lacking)) << key;
    for (const Json& none : {Json(), Json("10"), Json::array()}) {
      lacking[key] = none;
      EXPECT_FALSE(predicates::learning_rate_form(optimizer, lacking)) << key << " " << none;
    }
  }
  EXPECT_FALSE(predicates::learning_rate_form(Json::object(), schedule(0)));
}

TEST(LearningRateForm, IsAbsentForAnExternalRateThatEndsAboveZero) {
  Manifest manifest;
  manifest.set_role("external");
  manifest.json = {{"optimizer", optimizer}, {"learning_rate_schedule", schedule(0)}};
  EXPECT_TRUE(predicates::learning_rate_form(manifest));
  manifest.json["learning_rate_schedule"] = schedule(0.1);
  EXPECT_FALSE(predicates::learning_rate_form(manifest));
  for (const char* ours : {"pipeline", "reference"}) {
    manifest.set_role(ours);
    EXPECT_TRUE(predicates::learning_rate_form(manifest)) << "for our trainers the order of operations is known";
  }
}

}  // namespace
}  // namespace plumbline::testing
