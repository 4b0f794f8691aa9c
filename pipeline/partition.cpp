// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/partition.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "model/flops.hpp"
#include "schedule/uniform_layers.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// Layers, or halves of them, on each stage.
using LayerCounts = std::vector<std::int64_t>;

std::int64_t all_layers(const LlamaConfig& config) {
  return config.layers * units_per_layer(config);
}

/// FLOPs of `count` layers or halves from the one with index `first` on.
class LayerCosts {
 public:
  LayerCosts(const LlamaConfig& config, const std::vector<std::int64_t>& row_lengths)
      : halves_(config.halves),
        layer_(layer_flops(config, row_lengths)),
        attention_(attention_flops(config, row_lengths)),
        mlp_(mlp_flops(config, row_lengths)),
        head_(head_flops(config, row_lengths)) {}

  /// Of the backward pass too if layers are halved.
  double head() const { return halves_ ? 3 * head_ : head_; }
  double of(std::int64_t first, std::int64_t count) const {
    if (!halves_) return static_cast<double>(count) * layer_;
    const std::int64_t attentions = (count + (first % 2 == 0 ? 1 : 0)) / 2;
    return static_cast<double>(attentions) * attention_ + static_cast<double>(count - attentions) * mlp_;
  }
  double largest(const LayerCounts& counts) const {
    double most = 0;
    std::int64_t next = 0;
    for (const std::int64_t count : counts) most = std::max(most, of(std::exchange(next, next + count), count));
    return most;
  }

 private:
  bool halves_;
  double layer_, attention_, mlp_, head_;
};

LayerCounts least_largest(const LlamaConfig& config, std::int32_t stages,
                          const std::vector<std::int64_t>& row_lengths) {
  const std::int64_t layers = all_layers(config);
  if (stages == 1) return {layers};
  const LayerCosts costs(config, row_lengths);
  // With k layers on the head's stage the rest is best spread evenly; only k is searched.
  LayerCounts best;
  double least = 0;
  for (std::int64_t k = 0; k <= layers; ++k) {
    const double last = costs.of(layers - k, k) + costs.head();
    if (!best.empty() && last > least) break;
    LayerCounts counts = uniform_layers(layers - k, stages - 1);
    const double largest = std::max(costs.largest(counts), last);
    if (!best.empty() && largest > least) continue;
    least = largest;
    best = std::move(counts);
    best.push_back(k);
  }
  return best;
}

/// What to write instead of a list made for the other granularity; empty if it is none.
std::string other_balance(const LlamaConfig& config, const LayerCounts& balance) {
  const double sum = std::accumulate(balance.begin(), balance.end(), 0.0);
  if (config.halves && sum == static_cast<double>(config.layers)) {
    std::vector<std::string> doubled;
    for (const std::int64_t count : balance) doubled.push_back(std::to_string(2 * count));
    return "; a list of whole layers is [" + join(doubled, ", ") + "] in halves";
  }
  if (config.halves || sum != 2 * static_cast<double>(config.layers)) return "";
  return "; a list of half layers takes pipeline.granularity = \"half\"";
}

LayerCounts given_balance(const LlamaConfig& config, const LayerCounts& balance, std::int32_t stages) {
  const std::string layers = config.halves ? "half layers" : "layers";
  const auto list = [&] {
    std::vector<std::string> texts;
    for (const std::int64_t count : balance) texts.push_back(std::to_string(count));
    return "pipeline.balance = [" + join(texts, ", ") + "]";
  };
  if (balance.size() != static_cast<std::size_t>(stages)) {
    throw InputError(list() + " has " + std::to_string(balance.size()) + " numbers for " + std::to_string(stages) +
                     " stages; give one number of " + layers + " a stage, or use that many ranks");
  }
  const std::string other = other_balance(config, balance);
  std::int64_t sum = 0;
  for (const std::int64_t count : balance) {
    if (count < 0 || count > all_layers(config)) {
      throw InputError(list() + ": " + std::to_string(count) + " is not a number of " + layers + " from 0 to " +
                       std::to_string(all_layers(config)) + other);
    }
    sum += count;
  }
  if (sum != all_layers(config)) {
    throw InputError(list() + " adds up to " + std::to_string(sum) + " " + layers + ", the model has " +
                     std::to_string(all_layers(config)) + (other.empty() ? "; make the two equal" : other));
  }
  return balance;
}

LayerCounts layer_counts(const LlamaConfig& config, const PipelineSettings& settings, std::int32_t stages,
                         const std::vector<std::int64_t>& row_lengths) {
  if (settings.partition == "uniform") return uniform_layers(all_layers(config), stages);
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
