// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/partition.hpp"

#include <algorithm>
#include <numeric>

#include "schedule/uniform_layers.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

using LayerCounts = std::vector<std::int64_t>;

LayerCounts least_largest(const LlamaConfig& config, std::int32_t stages,
                          const std::vector<std::int64_t>& row_lengths) {
  if (stages == 1) return {config.layers};
  const double layer = layer_flops(config, row_lengths);
  const double head = head_flops(config, row_lengths);
  const std::int64_t others = stages - 1;
  // Layers have equal cost, so with k of them on the head's stage the rest is best spread evenly; only k is searched.
  std::int64_t best = 0;
  double least = 0;
  for (std::int64_t k = 0; k <= config.layers; ++k) {
    const std::int64_t most_elsewhere = (config.layers - k + others - 1) / others;
    const double largest = std::max(static_cast<double>(most_elsewhere) * layer, static_cast<double>(k) * layer + head);
    if (k == 0 || largest <= least) {
      best = k;
      least = largest;
    }
  }
  LayerCounts counts = uniform_layers(config.layers - best, stages - 1);
  counts.push_back(best);
  return counts;
}

LayerCounts given_balance(const LlamaConfig& config, const LayerCounts& balance, std::int32_t stages) {
  const auto list = [&] {
    std::string text;
    for (const std::int64_t count : balance) text += (text.empty() ? "" : ", ") + std::to_string(count);
    return "pipeline.balance = [" + text + "]";
  };
  if (balance.size() != static_cast<std::size_t>(stages)) {
    throw InputError(list() + " has " + std::to_string(balance.size()) + " numbers for " + std::to_string(stages) +
                     " stages; give one number of layers a stage, or use that many ranks");
  }
  std::int64_t sum = 0;
  for (const std::int64_t count : balance) {
    if (count < 0 || count > config.layers) {
      throw InputError(list() + ": " + std::to_string(count) + " is not a number of layers from 0 to " +
                       std::to_string(config.layers));
    }
    sum += count;
  }
  if (sum != config.layers) {
    throw InputError(list() + " adds up to " + std::to_string(sum) + " layers, the model has " +
                     std::to_string(config.layers) + "; make the two equal");
  }
  return balance;
}

LayerCounts layer_counts(const LlamaConfig& config, const PipelineSettings& settings, std::int32_t stages,
                         const std::vector<std::int64_t>& row_lengths) {
  if (settings.partition == "uniform") return uniform_layers(config.layers, stages);
  if (settings.partition == "cost") return least_largest(config, stages, row_lengths);
  if (settings.partition == "balance") return given_balance(config, settings.balance, stages);
  throw InputError("pipeline.partition = \"" + settings.partition + "\" is unknown: use uniform, cost, or a balance");
}

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

std::vector<UnitRange> partition(const LlamaConfig& config, const PipelineSettings& settings, std::int32_t stages,
                                 const std::vector<std::int64_t>& row_lengths) {
  if (stages < 1) throw InputError("a pipeline of " + std::to_string(stages) + " stages: at least 1 is needed");
  std::vector<UnitRange> ranges;
  std::int64_t next = 0;
  for (const std::int64_t layers : layer_counts(config, settings, stages, row_lengths)) {
    const std::int64_t first = next;
    next += layers;
    if (ranges.empty()) next += 1;                                         // embed_tokens
    if (ranges.size() + 1 == static_cast<std::size_t>(stages)) next += 2;  // norm, lm_head
    ranges.push_back({first, next});
  }
  return ranges;
}

std::vector<UnitRange> partition(const LlamaConfig& config, const PipelineSettings& settings, std::int32_t stages,
                                 const BatchPlan& plan) {
  std::vector<std::int64_t> row_lengths;
  for (std::int64_t m = 0; m < plan.microbatches(); ++m) {
    row_lengths.insert(row_lengths.end(), static_cast<std::size_t>(plan.batch(m)), plan.sequence_length(m));
  }
  return partition(config, settings, stages, row_lengths);
}

}  // namespace plumbline
