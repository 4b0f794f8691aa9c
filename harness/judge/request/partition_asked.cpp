// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/request/partition_asked.hpp"

#include <algorithm>
#include <numeric>

#include "support/error.hpp"

namespace plumbline::judging {
namespace {

using Counts = std::vector<std::int64_t>;

Counts evenly(std::int64_t layers, std::int64_t stages) {
  Counts counts(static_cast<std::size_t>(stages), 0);
  // More stages than layers: the first has only the embedding, the next ones one layer each.
  const bool few = stages > layers;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    ++counts[static_cast<std::size_t>(few ? layer + 1 : layer % stages)];
  }
  return counts;
}

Counts by_cost(const ExpectedModel& model, std::int64_t stages, const std::vector<std::int64_t>& rows) {
  if (stages == 1) return {model.layers};
  const auto hidden = static_cast<double>(model.hidden), vocabulary = static_cast<double>(model.vocabulary);
  const auto queries = static_cast<double>(model.heads * model.head_dim);
  const auto keys = static_cast<double>(model.kv_heads * model.head_dim);
  const double weights = 2 * hidden * (queries + keys) + 3 * hidden * static_cast<double>(model.intermediate);
  double layer = 0, head = 0;
  for (const auto row : rows) {
    const auto length = static_cast<double>(row);
    layer += 2 * weights * length + 2 * length * length * queries;
    head += (2 * hidden * vocabulary + 4 * hidden + 5 * vocabulary) * length;
  }
  // For any number of layers besides the head, the rest is best spread evenly: this number is the only choice.
  Counts best;
  double least = 0;
  for (std::int64_t last = model.layers; last >= 0; --last) {
    Counts counts = evenly(model.layers - last, stages - 1);
    const double largest =
        std::max(static_cast<double>(std::ranges::max(counts)) * layer, static_cast<double>(last) * layer + head);
    if (!best.empty() && largest >= least) continue;
    least = largest;
    best = std::move(counts);
    best.push_back(last);
  }
  return best;
}

Counts by_hand(const ExpectedModel& model, const Counts& balance, std::int64_t stages) {
  const auto sum = std::accumulate(balance.begin(), balance.end(), std::int64_t{0});
  if (std::ssize(balance) != stages || sum != model.layers || std::ranges::min(balance) < 0) {
    throw InputError("a balance of " + std::to_string(balance.size()) + " stages and " + std::to_string(sum) +
                     " layers, for " + std::to_string(stages) + " stages of a model of " +
                     std::to_string(model.layers) + " layers");
  }
  return balance;
}

}  // namespace

std::vector<std::vector<std::string>> partition_asked(const ExpectedModel& model, const PartitionAsked& asked,
                                                      std::int64_t stages, const std::vector<std::int64_t>& rows) {
  if (stages < 1) throw InputError("a partition of " + std::to_string(stages) + " stages");
  const Counts counts = !asked.balance.empty()    ? by_hand(model, asked.balance, stages)
                        : asked.rule == "uniform" ? evenly(model.layers, stages)
                        : asked.rule == "cost"    ? by_cost(model, stages, rows)
                                                  : throw InputError("partition `" + asked.rule + "` is unknown");
  std::vector<std::vector<std::string>> units(counts.size());
  units.front().push_back("embed_tokens");
  std::int64_t next = 0;
  for (std::size_t stage = 0; stage < units.size(); ++stage) {
    for (std::int64_t i = 0; i < counts[stage]; ++i) units[stage].push_back("layers." + std::to_string(next++));
  }
  units.back().insert(units.back().end(), {"norm", "lm_head"});
  return units;
}

}  // namespace plumbline::judging
