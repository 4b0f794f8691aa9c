// SPDX-License-Identifier: BSD-3-Clause
#include "training/gradient_norm.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "model/parameter.hpp"
#include "model/parameter_shapes.hpp"
#include "tests/training/parameters.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {
namespace {

using testing::alias_of;
using testing::parameter_of;
using testing::state_of;

LlamaConfig tiny_config(bool tied) {
  LlamaConfig config;
  config.vocab_size = 8;
  config.hidden_size = 4;
  config.intermediate_size = 6;
  config.layers = 1;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 2;
  config.tied = tied;
  return config;
}

/// A different norm for each parameter.
std::vector<ParameterNorm> lively_norms(const LlamaConfig& config) {
  std::vector<ParameterNorm> norms;
  for (const ParameterShape& shape : parameter_shapes(config)) {
    norms.push_back({shape.name, std::exp(std::sin(static_cast<double>(3 * norms.size() + 1)))});
  }
  return norms;
}

double left_to_right(const std::vector<ParameterNorm>& norms, const std::string& left_out) {
  double sum = 0;
  for (const ParameterNorm& norm : norms) sum += norm.name == left_out ? 0 : norm.norm * norm.norm;
  return std::sqrt(sum);
}

// With temporaries of at most one piece, for any gradient size: 16 MiB of float64.
TEST(GradientNorms, CombineThePiecesOfALargeGradientInOrder) {
  Parameter large = parameter_of("large", {}, {});
  large.value = at::zeros({3, norm_piece}).requires_grad_();
  large.value.mutable_grad() = at::arange(3 * norm_piece, at::kFloat).sin().view({3, norm_piece});
  const at::Tensor gradient = large.value.grad();
  double sum = 0;
  for (std::int64_t piece = 0; piece < 3; ++piece) {
    const auto norm = at::linalg_vector_norm(gradient[piece], 2, std::nullopt, false, at::kDouble).item<double>();
    sum += norm * norm;
  }
  const TrainState state = state_of({large});
  MemoryMeter& meter = new_memory_meter();
  meter.attach();

  EXPECT_EQ(gradient_norms(tiny_config(false), state).at(0).norm, std::sqrt(sum));

  EXPECT_LT(meter.total().peak, (16 << 20) + 4096);
}

TEST(GradientNorms, AreTakenInFloat64) {
  // In fp32 the square of 1e30 overflows, and 1 is lost next to 1e8.
  const std::vector<Parameter> parameters{parameter_of("large", {0, 0}, {1e30, 0}),
                                          parameter_of("uneven", {0, 0}, {1e8, 1e4})};

  const std::vector<ParameterNorm> norms = gradient_norms(tiny_config(false), state_of(parameters));

  ASSERT_EQ(norms.size(), 2U);
  EXPECT_EQ(norms[0].name, "large");
  EXPECT_DOUBLE_EQ(norms[0].norm, static_cast<double>(1e30F));
  EXPECT_DOUBLE_EQ(norms[1].norm, std::sqrt(1e16 + 1e8));
}

TEST(GradientNorms, OfBfloat16AreNotRounded) {
  const std::vector<Parameter> parameters{parameter_of("a", {0, 0}, {1, 0.5}, at::kBFloat16)};

  EXPECT_DOUBLE_EQ(gradient_norms(tiny_config(false), state_of(parameters))[0].norm, std::sqrt(1.25));
}

TEST(GradientNorms, CountATiedWeightOnce) {
  std::vector<Parameter> parameters{parameter_of("model.embed_tokens.weight", {1, 2}, {3, 4})};
  parameters.push_back(alias_of(parameters[0], {3, 4}));
  const std::vector<Parameter> copy{parameter_of("lm_head.weight", {1, 2}, {3, 4})};

  const std::vector<ParameterNorm> norms = gradient_norms(tiny_config(true), state_of(parameters));

  ASSERT_EQ(norms.size(), 1U);
  EXPECT_EQ(norms[0].name, "model.embed_tokens.weight");
  EXPECT_EQ(norms[0].norm, 5.0);
  EXPECT_TRUE(gradient_norms(tiny_config(true), state_of(copy)).empty()) << "the last stage's copy";
  EXPECT_EQ(gradient_norms(tiny_config(false), state_of(copy)).size(), 1U);
}

TEST(GradientNorms, FreeTheirTemporaries) {
  const std::vector<Parameter> parameters{
      parameter_of("a", std::vector<double>(5000, 1), std::vector<double>(5000, 2))};
  const TrainState state = state_of(parameters);
  MemoryMeter& meter = new_memory_meter();
  meter.attach();
  const MemoryScope scope(MemoryOwner::activations);

  gradient_norms(tiny_config(false), state);

  EXPECT_EQ(meter.total().peak, meter.count(MemoryOwner::other).peak);
  EXPECT_EQ(meter.total().live, 0);
  EXPECT_EQ(meter.total().peak, 5000 * 8 + 8) << "LibTorch converts the gradient to float64, one tensor at a time";
}

// A stage holds its parameters in another order than the whole model; its peak is compared with the whole model's.
TEST(GradientNorms, NeedEqualMemoryInAnyOrder) {
  const Parameter large = parameter_of("large", std::vector<double>(5000, 1), std::vector<double>(5000, 2));
  const Parameter small = parameter_of("small", {1}, {2});
  std::vector<std::int64_t> peaks;
  for (const auto& parameters : {std::vector{large, small, small}, std::vector{small, small, large}}) {
    const TrainState state = state_of(parameters);
    MemoryMeter& meter = new_memory_meter();
    meter.attach();
    gradient_norms(tiny_config(false), state);
    peaks.push_back(meter.total().peak);
  }

  EXPECT_EQ(peaks[0], 5000 * 8 + 3 * 8);
  EXPECT_EQ(peaks[1], peaks[0]);
}

TEST(TotalNorm, IsSummedInCanonicalOrder) {
  const LlamaConfig config = tiny_config(false);
  // These squares are lost if each is added to 1, but not if they are added up before it, as here with lm_head last.
  std::vector<ParameterNorm> norms = lively_norms(config);
  for (ParameterNorm& norm : norms) norm.norm = 1e-8;
  norms.back().norm = 1;
  const double expected = left_to_right(norms, "");

  std::reverse(norms.begin(), norms.end());
  EXPECT_EQ(total_norm(config, norms), expected);
  EXPECT_NE(left_to_right(norms, ""), expected) << "these norms cannot reveal the reverse order";

  std::ranges::sort(norms, {}, &ParameterNorm::name);
  EXPECT_EQ(total_norm(config, norms), expected);
  EXPECT_NE(left_to_right(norms, ""), expected) << "these norms cannot reveal the order of names";
}

TEST(TotalNorm, CountsATiedWeightOnce) {
  const LlamaConfig config = tiny_config(true);
  std::vector<ParameterNorm> norms = lively_norms(config);
  const double expected = left_to_right(norms, "lm_head.weight");

  EXPECT_THROW(total_norm(config, norms), std::logic_error) << "the head's norm is the embedding's, counted again";
  std::erase_if(norms, [](const ParameterNorm& norm) { return norm.name == "lm_head.weight"; });
  EXPECT_EQ(total_norm(config, norms), expected);
}

TEST(TotalNorm, RefusesMissingDuplicateAndUnknownParameters) {
  const LlamaConfig config = tiny_config(false);
  std::vector<ParameterNorm> missing = lively_norms(config);
  missing.pop_back();
  std::vector<ParameterNorm> doubled = lively_norms(config);
  doubled.push_back(doubled.front());
  std::vector<ParameterNorm> foreign = lively_norms(config);
  foreign.push_back({"model.layers.1.mlp.up_proj.weight", 1});

  EXPECT_THROW(total_norm(config, missing), std::logic_error);
  EXPECT_THROW(total_norm(config, doubled), std::logic_error);
  EXPECT_THROW(total_norm(config, foreign), std::logic_error);
}

TEST(TotalNorm, PropagatesNan) {
  const LlamaConfig config = tiny_config(false);
  std::vector<ParameterNorm> norms = lively_norms(config);
  norms[3].norm = std::numeric_limits<double>::quiet_NaN();

  EXPECT_TRUE(std::isnan(total_norm(config, norms)));
}

}  // namespace
}  // namespace plumbline
