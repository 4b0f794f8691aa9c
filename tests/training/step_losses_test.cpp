// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/scalar_tensor.h>
#include <gmock/gmock.h>

#include "training/loss.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;

TEST(StepLosses, AreReadByMicrobatch) {
  StepLosses losses;

  losses.begin(3);
  losses.set(2, at::scalar_tensor(0.25));
  losses.set(0, at::scalar_tensor(4.5));

  EXPECT_THAT(losses.read(), ElementsAre(4.5F, 0.0F, 0.25F));
}

TEST(StepLosses, AreClearedByANewStep) {
  StepLosses losses;
  losses.begin(2);
  losses.set(1, at::scalar_tensor(1.0));
  losses.read();

  losses.begin(2);
  losses.set(0, at::scalar_tensor(2.0));

  EXPECT_THAT(losses.read(), ElementsAre(2.0F, 0.0F));
}

TEST(StepLosses, AreAddedInFloat32FromLeftToRight) {
  // Above 2^24 float32 has no odd numbers: each 1 is lost if it is added alone.
  EXPECT_EQ(step_loss({16777216.0F, 1.0F, 1.0F}), 16777216.0F);
  EXPECT_EQ(step_loss({1.0F, 1.0F, 16777216.0F}), 16777218.0F);
}

}  // namespace
}  // namespace plumbline
