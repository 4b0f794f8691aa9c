// SPDX-License-Identifier: BSD-3-Clause
#include "model/flops.hpp"

#include <numeric>

namespace plumbline {
namespace {

double total_tokens(const std::vector<std::int64_t>& row_lengths) {
  return std::accumulate(row_lengths.begin(), row_lengths.end(), 0.0,
                         [](double sum, std::int64_t length) { return sum + static_cast<double>(length); });
}

}  // namespace

double layer_flops(const LlamaConfig& config, const std::vector<std::int64_t>& row_lengths) {
  const auto hidden = static_cast<double>(config.hidden_size);
  const auto queries = static_cast<double>(config.heads * config.head_dim);
  const auto keys = static_cast<double>(config.kv_heads * config.head_dim);
  const auto intermediate = static_cast<double>(config.intermediate_size);
  const double weights = 2 * hidden * queries + 2 * hidden * keys + 3 * hidden * intermediate;
  double flops = 2 * weights * total_tokens(row_lengths);
  for (const std::int64_t length : row_lengths) {
    flops += 2 * static_cast<double>(length) * static_cast<double>(length) * queries;
  }
  return flops;
}

double head_flops(const LlamaConfig& config, const std::vector<std::int64_t>& row_lengths) {
  const auto hidden = static_cast<double>(config.hidden_size);
  const auto vocabulary = static_cast<double>(config.vocab_size);
  return (2 * hidden * vocabulary + 4 * hidden + 5 * vocabulary) * total_tokens(row_lengths);
}

double step_flops(const LlamaConfig& config, const std::vector<std::int64_t>& row_lengths) {
  return 3 * (static_cast<double>(config.layers) * layer_flops(config, row_lengths) + head_flops(config, row_lengths));
}

}  // namespace plumbline
