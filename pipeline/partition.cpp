// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/partition.hpp"

#include <algorithm>
#include <utility>

#include "model/flops.hpp"
#include "schedule/uniform_layers.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// Layers on each stage.
using LayerCounts = std::vector<std::int64_t>;

LayerCounts least_largest(const LlamaConfig& config, std::int32_t stages,
                          const std::vector<std::int64_t>& row_lengths) {
  if (stages == 1) return {config.layers};
  const double layer = layer_flops(config, row_lengths), head = head_flops(config, row_lengths);
  // With k layers on the head's stage the rest is best spread evenly; only k is searched.
  LayerCounts best;
  double least = 0;
  for (std::int64_t k = 0; k <= config.layers; ++k) {
    const double last = static_cast<double>(k) * layer + head;
    if (!best.empty() && last > least) break;
    LayerCounts counts = uniform_layers(config.layers - k, stages - 1);
    const double largest = std::max(static_cast<double>(std::ranges::max(counts)) * layer, last);
    if (!best.empty() && largest > least) continue;
    least = largest;
    best = std::move(counts);
    best.push_back(k);
  }
  return best;
}

LayerCounts given_balance(const LlamaConfig& config, const LayerCounts& balance, std::int32_t stages) {
  std::vector<std::string> texts;
  for (const std::int64_t count : balance) texts.push_back(std::to_string(count));
  const std::string list = "pipeline.balance = [" + join(texts, ", ") + "]";
  if (balance.size() != static_cast<std::size_t>(stages)) {
    throw InputError(list + " has " + std::to_string(balance.size()) + " numbers for " + std::to_string(stages) +
                     " stages; give one number of layers a stage, or use that many ranks");
  }
  std::int64_t sum = 0;
  for (const std::int64_t count : balance) {
    if (count < 0 || count > config.layers) {
      throw InputError(list + ": " + std::to_string(count) + " is not a number of layers from 0 to " +
                       std::to_string(config.layers));
    }
    sum += count;
  }
  if (sum != config.layers) {
    throw InputError(list + " adds up to " + std::to_string(sum) + " layers, the model has " +
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

}  // namespace

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

}  // namespace plumbline
