// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/request/requested_partition.hpp"

#include <fmt/format.h>

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

/// Units between the embedding and norm and head.
std::int64_t layers_of(const ExpectedModel& model) {
  return std::ssize(model.units) - 3;
}

Counts by_cost(const ExpectedModel& model, std::int64_t stages, const std::vector<std::int64_t>& rows) {
  const std::int64_t layers = layers_of(model);
  if (stages == 1) return {layers};
  const auto hidden = static_cast<double>(model.hidden), vocabulary = static_cast<double>(model.vocabulary);
  const auto queries = static_cast<double>(model.heads * model.head_dim);
  const auto keys = static_cast<double>(model.kv_heads * model.head_dim);
  const double projections = 2 * hidden * (queries + keys),
               inner = 3 * hidden * static_cast<double>(model.intermediate);
  const bool halves = layers > model.layers;  // counted with their backward passes
  const double passes = halves ? 3 : 1, products = halves ? 14 : 2;
  double attention = 0, mlp = 0, head = 0;
  for (const auto row : rows) {
    const auto length = static_cast<double>(row);
    attention += passes * 2 * projections * length + products * length * length * queries;
    mlp += passes * 2 * inner * length;
    head += passes * (2 * hidden * vocabulary + 4 * hidden + 5 * vocabulary) * length;
  }
  // For any number of layers next to the head, the rest is best spread evenly, so this number is the only choice.
  Counts best;
  double least = 0;
  for (std::int64_t last = layers; last >= 0; --last) {
    Counts counts = evenly(layers - last, stages - 1);
    counts.push_back(last);
    double largest = 0;
    std::int64_t unit = 0;
    for (std::size_t stage = 0; stage < counts.size(); ++stage) {
      const std::int64_t end = unit + counts[stage];  // of halves the even ones are attention
      const auto attentions = static_cast<double>(halves ? (end + 1) / 2 - (unit + 1) / 2 : end - unit);
      const auto mlps = static_cast<double>(halves ? end / 2 - unit / 2 : end - unit);
      largest = std::max(largest, attentions * attention + mlps * mlp + (stage + 1 == counts.size() ? head : 0));
      unit = end;
    }
    if (!best.empty() && largest >= least) continue;
    least = largest;
    best = std::move(counts);
  }
  return best;
}

Counts by_hand(const ExpectedModel& model, const Counts& balance, std::int64_t stages) {
  const auto sum = std::accumulate(balance.begin(), balance.end(), std::int64_t{0});
  if (std::ssize(balance) != stages || sum != layers_of(model) || std::ranges::min(balance) < 0) {
    throw InputError(fmt::format(
        "the balance has {} stages and {} layers, but there are {} stages and the model has {} layers (or half layers)",
        balance.size(), sum, stages, layers_of(model)));
  }
  return balance;
}

}  // namespace

std::vector<std::vector<std::string>> requested_partition(const ExpectedModel& model,
                                                          const RequestedPartition& requested, std::int64_t stages,
                                                          const std::vector<std::int64_t>& rows) {
  if (stages < 1) throw InputError(fmt::format("a partition needs at least 1 stage, got {}", stages));
  const Counts counts = !requested.balance.empty()    ? by_hand(model, requested.balance, stages)
                        : requested.rule == "uniform" ? evenly(layers_of(model), stages)
                        : requested.rule == "cost"
                            ? by_cost(model, stages, rows)
                            : throw InputError(fmt::format("partition `{}` is unknown", requested.rule));
  std::vector<std::vector<std::string>> units(counts.size());
  auto next = model.units.begin();
  units.front().push_back(*next++);
  for (std::size_t stage = 0; stage < units.size(); ++stage) {
    for (std::int64_t i = 0; i < counts[stage]; ++i) units[stage].push_back(*next++);
  }
  units.back().insert(units.back().end(), {"norm", "lm_head"});
  return units;
}

}  // namespace plumbline::judging
