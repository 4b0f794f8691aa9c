// SPDX-License-Identifier: BSD-3-Clause
#include "reference/unit_meter.hpp"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "training/memory_meter.hpp"
#include "training/step_observer.hpp"

namespace plumbline {
namespace {

/// A pass through units made up by a test.
class MeasuredPass : public ::testing::Test {
 protected:
  MeasuredPass() {
    install_memory_meter();
    meter_.attach();
  }
  static at::Tensor numbers(std::int64_t count) { return at::empty({count}, at::kFloat).requires_grad_(); }
  /// A unit that needs memory for this many numbers while it computes, and outputs that many.
  void run(std::int64_t unit, std::int64_t needs, std::int64_t gives) {
    measured_.before_unit(unit, passed_);
    numbers(needs);
    at::Tensor output = numbers(gives);
    passed_ = std::move(output);
    measured_.after_unit(unit, passed_);
  }

  MemoryMeter& meter_ = new_memory_meter();
  const MemoryScope scope_{MemoryOwner::activations};
  const std::vector<std::string> units_{"embed_tokens", "layers.0", "norm", "lm_head"};
  StepObserver no_observer_;
  UnitMeter measured_{meter_, no_observer_, units_, 0, 0};
  at::Tensor passed_;
};

TEST_F(MeasuredPass, HasAPeakPerUnitAndTheLargestOfThePass) {
  run(0, 100, 10);
  run(1, 1000, 10);
  run(2, 50, 3);

  EXPECT_EQ(measured_.rows()[0].forward_bytes, 400);
  EXPECT_EQ(measured_.rows()[1].forward_bytes, 40 + 4000) << "its input, and what it needs";
  EXPECT_EQ(measured_.rows()[2].forward_bytes, 40 + 200);
  EXPECT_EQ(measured_.collect_peak(), 40 + 4000);
  EXPECT_EQ(measured_.collect_peak(), 12) << "since the last call";
}

TEST_F(MeasuredPass, KeepsTheForwardPeakUntilCollected) {
  run(0, 100, 10);
  run(1, 1000, 10);

  measured_.begin_backward();

  EXPECT_EQ(measured_.collect_peak(), 40 + 4000);
}

TEST_F(MeasuredPass, LeavesOutWhatRanBeforeIt) {
  numbers(5000);  // as an evaluation of a longer microbatch does

  UnitMeter later(meter_, no_observer_, units_, 1, 0);
  later.before_unit(0, passed_);
  passed_ = numbers(10);
  later.after_unit(0, passed_);

  EXPECT_EQ(later.collect_peak(), 40);
}

}  // namespace
}  // namespace plumbline
