// SPDX-License-Identifier: BSD-3-Clause
// The plan compared with the real sizes of model, gradients and optimizer, and the messages about insufficient memory.
#include "training/memory_plan.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "model/llama_slice.hpp"
#include "model/parameter.hpp"
#include "model/unit.hpp"
#include "support/error.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"
#include "training/gpu/prepare_device.hpp"
#include "training/run.hpp"
#include "training/train_state.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

LlamaConfig config(bool tied) {
  LlamaConfig made = load_config(testing::fixtures_path() + "/models/stories260k/config.json");
  made.tied = tied;
  return made;
}

using Units = std::pair<std::int64_t, std::int64_t>;

class PlanOf : public ::testing::TestWithParam<std::tuple<bool, std::string, Units, std::string>> {};

TEST_P(PlanOf, StateMatchesTheAllocation) {
  const auto& [tied, optimizer_name, first_and_last, precision] = GetParam();
  const UnitRange units{first_and_last.first, first_and_last.second};
  TrainSettings train;
  train.dtype = precision;
  train.optimizer.name = optimizer_name;
  train.optimizer.momentum = optimizer_name == "sgd" ? 0.9 : 0.0;
  LlamaSlice slice(config(tied), units, computed_type(train));
  if (is_mixed(train)) slice.keep_masters();
  slice.allocate_gradients();
  const TrainState state(train.optimizer, slice.parameters());
  std::int64_t parameters = 0, gradients = 0, counters = 0;
  for (const Parameter& each : slice.parameters()) {
    if (!each.alias) parameters += static_cast<std::int64_t>(each.value.nbytes());
    if (!each.alias && each.master.defined()) parameters += static_cast<std::int64_t>(each.master.nbytes());
    const at::Tensor& gradient = is_mixed(train) ? each.gradient_sum : each.value.grad();
    gradients += static_cast<std::int64_t>(gradient.nbytes());
  }
  for (const TrainedParameter& each : state.parameters) counters += each.updates.defined() ? 4 : 0;

  const MemoryPlan plan = plan_state(config(tied), {units}, train);

  EXPECT_EQ(plan.parameters, parameters);
  EXPECT_EQ(plan.gradients, gradients);
  EXPECT_EQ(plan.optimizer, state.optimizer_bytes() - counters);
}

INSTANTIATE_TEST_SUITE_P(Units, PlanOf,
                         ::testing::Combine(::testing::Bool(), ::testing::Values("adamw", "sgd"),
                                            ::testing::Values(Units{0, 8}, Units{0, 3}, Units{6, 8}, Units{3, 3}),
                                            ::testing::Values("float32", "float64", "bfloat16", "mixed")));

TEST(MemoryPlanTest, SavedBytesMatchTheClosedForms) {
  LlamaConfig c = config(true);
  c.head_dim *= 2;  // attention wider than the hidden states
  const std::int64_t n = 34, h = c.hidden_size, a = c.attention_width(), kv = c.kv_width(), i = c.intermediate_size;

  EXPECT_EQ(plan_saved(c, {0, 1}, n, at::kFloat), 0);
  EXPECT_EQ(plan_saved(c, {1, 3}, n, at::kFloat), 2 * 4 * n * (6 * h + 2 * a + 2 * kv + 4 * i + c.heads + 2));
  EXPECT_EQ(plan_saved(c, {6, 8}, n, at::kFloat), 4 * n * (2 * h + 1) + 4 * n * (c.vocab_size + h));
  EXPECT_EQ(plan_saved(c, {7, 8}, n, at::kBFloat16), 2 * n * (c.vocab_size + h));
  EXPECT_LT(plan_saved(c, {0, 8}, n, at::kBFloat16), plan_saved(c, {0, 8}, n, at::kFloat));
  EXPECT_EQ(plan_saved(c, {1, 3}, n, at::kFloat, Recompute::none, 17),
            2 * 4 * n * (6 * h + 4 * a + 4 * i + c.heads * 17 + 2))
      << "attention computed as matrix products";
}

TEST(MemoryPlanTest, OnAGpuAttentionInFloat32KeepsItsSoftmax) {
  DataSettings data;
  data.text = "t";
  data.row_lengths = {{4}, {9, 2}};
  const BatchPlan batches(data, Tokens(std::vector<std::int32_t>(100, 1)));
  const auto rows = [&](const std::string& device, at::ScalarType dtype) {
    return math_sequence(batches, 1, device, dtype);
  };
  EXPECT_EQ(rows("cuda", at::kFloat), 9);
  EXPECT_EQ(rows("cuda", at::kDouble), 9);
  EXPECT_EQ(rows("cuda", at::kBFloat16), 0);
  EXPECT_EQ(rows("cpu", at::kFloat), 0);
}

TEST(MemoryPlanTest, RecomputedLayersKeepTheirInput) {
  const LlamaConfig c = config(true);
  const std::int64_t n = 34, h = c.hidden_size;
  const auto recompute = Recompute::layer;
  const std::int64_t layer = plan_saved(c, {1, 2}, n, at::kFloat), rest = plan_saved(c, {6, 8}, n, at::kFloat);

  EXPECT_EQ(plan_saved(c, {0, 8}, n, at::kFloat, recompute), 5 * 4 * n * h + rest);
  TrainSettings train;
  const std::int64_t of_layer = 4 * h * c.intermediate_size, of_head = 4 * h * c.vocab_size;  // largest gradients
  EXPECT_EQ(plan_backward(c, {1, 6}, n, train), of_layer);
  train.recompute = recompute;
  EXPECT_EQ(plan_backward(c, {1, 6}, n, train), layer - 4 * n * h + of_layer);
  EXPECT_EQ(plan_backward(c, {0, 8}, n, train), std::max(layer - 4 * n * h + of_layer - rest, of_head));
  EXPECT_EQ(plan_backward(c, {6, 8}, n, train), of_head) << "the stage has no layer";
}

TEST(MemoryPlanTest, OneDeviceUsesTheLargestPaddedMicrobatch) {
  const auto activations = [](std::vector<std::vector<std::int64_t>> row_lengths) {
    DataSettings data;
    data.text = "t";
    data.row_lengths = std::move(row_lengths);
    const BatchPlan batches(data, Tokens(std::vector<std::int32_t>(100, 1)));
    return plan_one_device(plumbline::Run{RunFile(), config(true), batches}).activations;
  };
  EXPECT_EQ(activations({{8}, {2}}), activations({{8}}));
  EXPECT_EQ(activations({{8, 1}}), activations({{8, 8}}));
}

TEST(MemoryPlanTest, SgdWithoutMomentumKeepsNothing) {
  TrainSettings train;
  train.optimizer.name = "sgd";
  train.optimizer.momentum = 0;
  EXPECT_EQ(plan_state(config(true), {{0, 8}}, train).optimizer, 0);
}

TEST(MemoryPlanTest, RequiresMoreThanTheState) {
  const MemoryPlan plan{.parameters = 10, .gradients = 10, .optimizer = 10, .activations = 5};
  EXPECT_NO_THROW(require_free(plan, 35, "the machine"));
  EXPECT_THROW(require_free(plan, 34, "the machine"), SystemError);
}

TEST(MemoryPlanTest, SaturatesInsteadOfOverflowing) {
  LlamaConfig large = config(false);
  large.layers = 100000;
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  for (std::int64_t* size : {&large.vocab_size, &large.hidden_size, &large.intermediate_size, &large.heads,
                             &large.kv_heads, &large.head_dim}) {
    *size = largest;
  }

  const UnitRange all{0, large.layers + 3};

  EXPECT_EQ(plan_state(large, {all}, TrainSettings{}).state(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(plan_saved(large, all, largest, at::kFloat), std::numeric_limits<std::int64_t>::max());
}

TEST(MemoryPlanTest, RefusesAPlanBeyondFreeMemoryOfAMachine) {
  MemoryPlan plan;
  plan.parameters = std::int64_t{1} << 60;
  plan.optimizer = std::int64_t{1} << 62;

  EXPECT_NO_THROW(require_free(plan, plan.total(), "rank 2"));
  EXPECT_THAT(
      testing::error_of<SystemError>([&] { require_free(plan, std::int64_t{1} << 40, "rank 2"); }),
      AllOf(HasSubstr("rank 2 has 1.00 TiB of memory free, and the plan is at least 5.00 EiB: parameters 1.00 EiB"),
            HasSubstr("--check")));
}

TEST(MemoryPlanTest, RefusesAStateBeyondFreeMemoryOfAGpu) {
  MemoryPlan plan;
  plan.parameters = std::int64_t{3} << 30;
  plan.gradients = std::int64_t{3} << 30;
  plan.activations = std::int64_t{1} << 30;

  EXPECT_NO_THROW(check_fits(plan, std::int64_t{6} << 30, std::int64_t{8} << 30, "rank 2, GPU 1"));
  try {
    check_fits(plan, (std::int64_t{6} << 30) - 1, std::int64_t{8} << 30, "rank 2, GPU 1");
    FAIL() << "a plan of 6 GiB fitted into less";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 2, GPU 1 has 6.00 GiB of 8.00 GiB free"),
                                    HasSubstr("at least 7.00 GiB: parameters 3.00 GiB")));
  }
}

TEST(OutOfMemory, DoesNotChangeOtherErrors) {
  EXPECT_THROW(explain_out_of_memory("", [] { throw InputError("another"); }), InputError);
}

}  // namespace
}  // namespace plumbline
