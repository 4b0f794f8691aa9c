// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/stage.hpp"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"
#include "training/run.hpp"
#include "training/step_observer.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

/// The second half of quick.toml's model, which ends in the loss.
class UpperHalf : public ::testing::Test {
 protected:
  at::Tensor forward(std::int64_t microbatch) {
    const BatchPlan& plan = run_.batches;
    return stage_.forward({plan, nobody_, true, plan.step_valid_tokens(0)}, 0, microbatch,
                          at::ones({plan.batch(microbatch), plan.sequence_length(microbatch), 64}));
  }

  const plumbline::Run run_ = load_run(testing::fixtures_path() + "/runs/quick.toml", std::nullopt);
  StepObserver nobody_;
  LlamaStage stage_{run_, 1, {3, 8}};
};

TEST_F(UpperHalf, KeepsAMicrobatchUntilItsWeightGradients) {
  forward(0);
  EXPECT_TRUE(stage_.backward_input(0, 0, {}).defined());
  EXPECT_NO_THROW(stage_.backward_weight(0, 0));

  EXPECT_THROW(stage_.backward_weight(0, 0), std::out_of_range);
  EXPECT_THROW(stage_.backward_input(0, 0, {}), std::out_of_range);
}

TEST_F(UpperHalf, RunsNoMicrobatchBackwardTwice) {
  forward(0);
  forward(2);
  EXPECT_TRUE(stage_.backward(0, 2, {}).defined()) << "in any order of a list";

  EXPECT_THAT(testing::error_of<std::logic_error>([&] { stage_.backward(0, 2, {}); }),
              HasSubstr("stage 1: no forward pass of this microbatch"));
}

}  // namespace
}  // namespace plumbline
