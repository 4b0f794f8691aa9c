// SPDX-License-Identifier: BSD-3-Clause
#include "harness/bench/summarise_bench.hpp"

#include <algorithm>
#include <cmath>

#include "harness/bench/median_interval.hpp"

namespace plumbline {
namespace {

double middle(const std::vector<double>& values) {
  return median_interval(values).median;
}

/// Tokens per second of a round, by its median step.
double tokens_per_s(const BenchRound& round) {
  return 1e3 * round.tokens / middle(round.steps_ms);
}

template <typename Value>
std::vector<double> of_each(const std::vector<BenchRound>& rounds, const Value& value) {
  std::vector<double> values;
  for (const BenchRound& round : rounds) values.push_back(value(round));
  return values;
}

/// Ratios of tokens per second, round by round.
std::vector<double> ratios(const std::vector<BenchRound>& over, const std::vector<BenchRound>& under) {
  std::vector<double> values;
  for (std::size_t i = 0; i < std::min(over.size(), under.size()); ++i)
    values.push_back(tokens_per_s(over[i]) / tokens_per_s(under[i]));
  return values;
}

BenchRoundFigures figures_of(const BenchRound& round) {
  return {middle(round.steps_ms), tokens_per_s(round), std::nullopt};
}

std::vector<double> step_times(const std::vector<BenchRound>& rounds) {
  return of_each(rounds, [](const auto& round) { return middle(round.steps_ms); });
}

}  // namespace

void summarise(const ReferenceRounds& rounds, BenchReference& reference) {
  for (const BenchRound& round : rounds.first) reference.rounds.push_back(figures_of(round));
  reference.step_ms = median_interval(step_times(rounds.first));
  reference.second = median_interval(ratios(rounds.second, rounds.first));
}

void summarise(const std::vector<BenchRound>& rounds, const ReferenceRounds& reference, std::int64_t cores,
               BenchCell& cell) {
  const std::vector<double> speeds = ratios(rounds, reference.first);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    cell.rounds.push_back(figures_of(rounds[i]));
    if (i < speeds.size()) cell.rounds.back().speed = speeds[i];
  }
  cell.step_ms = median_interval(step_times(rounds));
  cell.speed = median_interval(speeds);
  cell.oversubscribed = cell.world > cores;
  std::vector<double> measured, simulated, allowed;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    if (!rounds[i].timeline) continue;
    const BenchRound::Timeline& timeline = *rounds[i].timeline;
    measured.push_back(timeline.bubble);
    simulated.push_back(timeline.simulated_bubble);
    // The time of optimiser and recorder, which no schedule hides, stays as measured.
    const double end = std::max(0.0, middle(rounds[i].steps_ms) - timeline.span_ms);
    if (i < reference.first.size())
      allowed.push_back(middle(reference.first[i].steps_ms) / (timeline.simulated_span_ms + end));
  }
  if (measured.empty()) return;
  cell.bubble = BenchBubble{median_interval(measured), middle(simulated)};
  cell.simulated_speed = middle(allowed);
}

double noise_of(const std::vector<BenchReference>& references) {
  double noise = 0;
  for (const BenchReference& reference : references)
    noise = std::max({noise, std::fabs(reference.second.low - 1), std::fabs(reference.second.high - 1)});
  return noise;
}

}  // namespace plumbline
