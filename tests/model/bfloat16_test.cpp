// SPDX-License-Identifier: BSD-3-Clause
// The model in bfloat16: the bytes it saves, and where it must not round.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Tensor.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rsqrt.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/initialize.hpp"
#include "model/llama_slice.hpp"
#include "model/parameter.hpp"
#include "model/rms_norm.hpp"
#include "model/saved_bytes.hpp"
#include "model/unit.hpp"
#include "tests/model/counting_allocator.hpp"
#include "tests/model/models.hpp"

namespace plumbline {
namespace {

using testing::forward;
using testing::live_tensor_bytes;
using testing::make_ids;
using testing::make_slice;
using testing::mean_loss;
using testing::small_batch;
using testing::small_config;
using testing::small_sequence;
using testing::small_tokens;
using testing::whole;

at::Tensor drawn_in_bfloat16(at::IntArrayRef shape, std::uint64_t seed) {
  return at::empty(shape, at::kFloat).normal_(0.0, 1.0, at::detail::createCPUGenerator(seed)).to(at::kBFloat16);
}

/// The same function of the same bfloat16 numbers, computed in float64.
at::Tensor exact_norm(const at::Tensor& input, const at::Tensor& weight, double eps) {
  return rms_norm(input.to(at::kDouble), weight.to(at::kDouble), eps);
}

/// Largest error relative to the exact value.
double largest_error(const at::Tensor& computed, const at::Tensor& exact) {
  return computed.to(at::kDouble).sub(exact).div(exact).abs().max().item<double>();
}

// Rounded twice, after normalizing and after the weight: (1 + 2^-8)^2 bounds the two (half an ulp is at most 2^-8 of
// the value), and the 2^-16 beyond that covers float32's own roundings.
const double two_roundings = std::pow(1 + 0x1p-8, 2) - 1;

TEST(Bfloat16, NormsRoundTwice) {
  const at::Tensor input = drawn_in_bfloat16({64, 256}, 1), weight = drawn_in_bfloat16({256}, 2);

  EXPECT_LE(largest_error(rms_norm(input, weight, 1e-5), exact_norm(input, weight, 1e-5)), two_roundings);

  const at::Tensor rounding_at_every_step =
      weight * (input * at::rsqrt(at::mean(at::pow(input, 2), {-1}, true).add(1e-5)));
  EXPECT_GT(largest_error(rounding_at_every_step, exact_norm(input, weight, 1e-5)), two_roundings)
      << "these numbers cannot reveal a norm computed in bfloat16 throughout";
}

TEST(Bfloat16, IsTheDtypeOfAllBoundaryTensors) {
  const LlamaConfig config = small_config();
  const LlamaSlice slice = make_slice(config, whole(config), at::kBFloat16);
  at::Tensor passing = make_ids(config, small_batch, small_sequence);

  for (std::int64_t unit = 0; unit < config.layers + 3; ++unit) {
    passing = slice.forward_unit(unit, passing);
    EXPECT_EQ(passing.scalar_type(), at::kBFloat16) << unit;
  }
  for (const Parameter& parameter : slice.parameters()) {
    EXPECT_EQ(parameter.value.scalar_type(), at::kBFloat16);
    EXPECT_EQ(parameter.value.grad().scalar_type(), at::kBFloat16);
  }
}

TEST(Bfloat16, LogitsMatchFloat64WithinRounding) {
  const LlamaConfig config = small_config();
  const LlamaSlice narrow = make_slice(config, whole(config), at::kBFloat16);
  LlamaSlice wide(config, whole(config), at::kDouble);
  for (Parameter& parameter : wide.parameters()) {
    const at::NoGradGuard no_grad;
    parameter.value.copy_(testing::value_of(narrow, parameter.name));
  }
  wide.prepare_tables(64);
  const at::Tensor ids = make_ids(config, small_batch, small_sequence);

  const at::Tensor logits = forward(narrow, ids), exact = forward(wide, ids);

  // Roundings between token and logit: 9 per layer through attention, 7 through the MLP and one more of the table; 3 at
  // norm and head: 54 in all. Each is at most 2^-8 of its tensor's size, and independent errors add up as the root of
  // their number: sqrt(54) 2^-8 = 3 % of a logit's size; the factor three is a margin.
  const double size = exact.pow(2).mean().sqrt().item<double>();
  EXPECT_LE(logits.to(at::kDouble).sub(exact).pow(2).mean().sqrt().item<double>(), 3 * std::sqrt(54) * 0x1p-8 * size);
  EXPECT_GT(logits.to(at::kDouble).sub(exact).abs().max().item<double>(), 0);
}

TEST(Bfloat16, SavedMemoryMatchesTheClosedForm) {
  for (const char* changes : {"{}", R"({"head_dim": 16})", R"({"num_key_value_heads": 4})",
                              R"({"num_key_value_heads": 1})", R"({"attention_bias": true, "mlp_bias": true})"}) {
    const LlamaConfig config = small_config(Json::parse(changes));
    live_tensor_bytes();
    const LlamaSlice slice = make_slice(config, whole(config), at::kBFloat16);
    const std::int64_t norm = 4 * small_tokens * (config.hidden_size + 1) + 2 * small_tokens * config.hidden_size;
    const std::int64_t width =
        2 * config.hidden_size + 2 * config.attention_width() + 2 * config.kv_width() + 4 * config.intermediate_size;
    const auto kept = [&](std::int64_t unit) {
      const std::int64_t before = live_tensor_bytes();
      at::Tensor output;
      {
        at::Tensor input = drawn_in_bfloat16({small_batch, small_sequence, config.hidden_size}, 3);
        input.set_requires_grad(true);
        // A leaf's gradient accumulator would keep it alive; a unit's input is not a leaf either.
        output = slice.forward_unit(unit, input * 1);
      }
      EXPECT_EQ(output.storage().use_count(), 1) << "a unit keeps its own output";
      const std::int64_t leaf = 2 * small_tokens * config.hidden_size;
      return live_tensor_bytes() - before - static_cast<std::int64_t>(output.storage().nbytes()) - leaf;
    };

    EXPECT_EQ(kept(2), 2 * norm + 2 * small_tokens * width + 4 * small_tokens * config.heads) << changes;
    EXPECT_EQ(kept(4), norm) << changes;
    EXPECT_EQ(kept(2), saved_bytes(config, {UnitKind::layer, 1}, small_tokens, at::kBFloat16)) << changes;
    EXPECT_EQ(kept(4), saved_bytes(config, {UnitKind::norm}, small_tokens, at::kBFloat16)) << changes;
  }
}

TEST(Bfloat16, InitialLossIsNearTheLogarithmOfTheVocabulary) {
  const LlamaConfig config = small_config({{"initializer_range", 0.02}});
  LlamaSlice slice(config, whole(config), at::kBFloat16);
  initialize(slice, 3);
  slice.prepare_tables(64);
  const at::Tensor ids = make_ids(config, 4, 64);

  const float loss = mean_loss(forward(slice, ids).to(at::kFloat), ids.roll(-1, 1)).item<float>();

  EXPECT_NEAR(loss, std::log(96.0f),
              0.03f);  // as in float32 (LlamaSlice): the spread of the weights, not the roundings
}

}  // namespace
}  // namespace plumbline
