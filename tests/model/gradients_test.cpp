// SPDX-License-Identifier: BSD-3-Clause
// The gradients of a float64 model compared with central differences of its loss, for each kind of parameter.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "model/llama_slice.hpp"
#include "model/parameter.hpp"
#include "tests/model/models.hpp"

namespace plumbline {
namespace {

using testing::forward;
using testing::make_ids;
using testing::make_slice;
using testing::mean_loss;
using testing::small_config;
using testing::value_of;
using testing::whole;

/// (f(x + h) - f(x - h)) / 2h in one element.
double central_difference(const LlamaSlice& slice, at::Tensor value, std::int64_t element, const at::Tensor& ids,
                          const at::Tensor& labels) {
  const at::NoGradGuard no_grad;
  const double step = 1e-5;
  double* place = value.mutable_data_ptr<double>() + element;
  const double before = *place;
  *place = before + step;
  const double above = mean_loss(forward(slice, ids), labels).item<double>();
  *place = before - step;
  const double below = mean_loss(forward(slice, ids), labels).item<double>();
  *place = before;
  return (above - below) / (2 * step);
}

/// The element with the largest gradient, and others spread over the tensor.
std::set<std::int64_t> elements_to_try(const at::Tensor& gradient) {
  const std::int64_t count = gradient.numel();
  return {gradient.abs().argmax().item<std::int64_t>(), 0, count / 3, (2 * count) / 3 + 1, count - 1};
}

void expect_gradients(const LlamaConfig& config) {
  const LlamaSlice slice = make_slice(config, whole(config), at::kDouble);
  const at::Tensor ids = make_ids(config, 2, 12);
  at::Tensor labels = ids.roll(-1, 1).clone();
  labels[1].slice(0, 7).fill_(-100);
  mean_loss(forward(slice, ids), labels).backward();

  std::int64_t tried = 0;
  for (const Parameter& parameter : slice.parameters()) {
    if (parameter.alias) {
      continue;
    }
    at::Tensor gradient = parameter.value.grad();
    if (config.tied && parameter.unit == "embed_tokens") {
      gradient = gradient.add(value_of(slice, "lm_head.weight").grad());  // one storage, two uses
    }
    gradient = gradient.contiguous();
    double largest = 0;
    for (const std::int64_t element : elements_to_try(gradient)) {
      const double analytic = gradient.const_data_ptr<double>()[element];
      const double measured = central_difference(slice, parameter.value, element, ids, labels);
      // A loss near 5 is rounded at 1e-15: 1e-10 after division by the step; the step's own error is of order 1e-10
      // times the third derivative.
      EXPECT_NEAR(measured, analytic, 1e-8) << parameter.name << " element " << element;
      largest = std::max(largest, std::abs(analytic));
      ++tried;
    }
    // A key's bias moves all scores of a query alike, and softmax cancels it; every other parameter must have a
    // gradient to compare.
    if (!parameter.name.ends_with("k_proj.bias")) {
      EXPECT_GT(largest, 1e-5) << parameter.name;
    }
  }
  EXPECT_GE(tried, 4 * static_cast<std::int64_t>(slice.parameters().size() - 1));
}

TEST(Gradients, MatchDifferencesForGroupedQueriesWithBiases) {
  expect_gradients(small_config({{"attention_bias", true}, {"mlp_bias", true}, {"num_hidden_layers", 2}}));
}

TEST(Gradients, MatchDifferencesForATiedModelWithWideHeads) {
  expect_gradients(small_config({{"tie_word_embeddings", true}, {"head_dim", 16}, {"num_hidden_layers", 1}}));
}

TEST(Gradients, MatchDifferencesForMultiHeadAttentionWithScaledRope) {
  const Json scaling =
      Json::parse(R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                       "original_max_position_embeddings": 16})");
  expect_gradients(small_config({{"num_key_value_heads", 4}, {"rope_parameters", scaling}, {"num_hidden_layers", 1}}));
}

}  // namespace
}  // namespace plumbline
