#include "harness/bench/summarise_bench.hpp"

#include <algorithm>
#include <cmath>

#include "harness/bench/median_interval.hpp"

namespace plumbline {
namespace {

double middle(const std::vector<double>& values) {
  return median_interval(values).median;
}

/// Tokens a second of a round: by its median step.
double tokens_per_s(const BenchRound& round) {
  return 1e3 * round.tokens / middle(round.steps_ms);
}

template <typename Value>
std::vector<double> of_each(const std::vector<BenchRound>& rounds, const Value& value) {
  std::vector<double> values;
  for (const BenchRound& round : rounds) values.push_back(value(round));
  return values;
}

/// Tokens a second of one over those of the other, round by round.
std::vector<double> ratios(const std::vector<BenchRound>& over, const std::vector<BenchRound>& under) {
  std::vector<double> values;
  for (std::size_t i = 0; i < std::min(over.size(), under.size()); ++i)
    values.push_back(tokens_per_s(over[i]) / tokens_per_s(under[i]));
  return values;
}

/// The median of the fastest tenth of all steps of all rounds.
double fast_step_ms(const std::vector<BenchRound>& rounds) {
  std::vector<double> steps;
  for (const BenchRound& round : rounds) steps.insert(steps.end(), round.steps_ms.begin(), round.steps_ms.end());
  std::ranges::sort(steps);
  steps.resize(std::max<std::size_t>(1, steps.size() / 10));
  return middle(steps);
}

}  // namespace

void summarise(const ReferenceRounds& rounds, BenchReference& reference) {
  reference.step_ms = median_interval(of_each(rounds.first, [](const auto& round) { return middle(round.steps_ms); }));
  reference.tokens_per_s = median_interval(of_each(rounds.first, tokens_per_s));
  reference.second = median_interval(ratios(rounds.second, rounds.first));
}

void summarise(const std::vector<BenchRound>& rounds, const ReferenceRounds& reference, std::int64_t cores,
               BenchCell& cell) {
  cell.step_ms = median_interval(of_each(rounds, [](const auto& round) { return middle(round.steps_ms); }));
  cell.tokens_per_s = median_interval(of_each(rounds, tokens_per_s));
  cell.round_speeds = ratios(rounds, reference.first);
  cell.speed = median_interval(cell.round_speeds);
  cell.fast_speed = fast_step_ms(reference.first) / fast_step_ms(rounds);
  cell.oversubscribed = cell.world > cores;
  const auto world = static_cast<double>(cell.world);
  if (!cell.oversubscribed)
    cell.efficiency = MedianInterval{cell.speed.median / world, cell.speed.low / world, cell.speed.high / world};
  std::vector<double> measured, simulated, closed_form, speeds;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    if (!rounds[i].timeline) continue;
    const BenchRound::Timeline& timeline = *rounds[i].timeline;
    measured.push_back(timeline.bubble);
    simulated.push_back(timeline.simulated_bubble);
    if (timeline.closed_form_bubble) closed_form.push_back(*timeline.closed_form_bubble);
    // What no schedule hides, the optimiser's and the recorder's part, stays as it was measured.
    const double end = std::max(0.0, middle(rounds[i].steps_ms) - timeline.span_ms);
    if (i < reference.first.size())
      speeds.push_back(middle(reference.first[i].steps_ms) / (timeline.simulated_span_ms + end));
  }
  if (measured.empty()) return;
  cell.bubble = BenchBubble{median_interval(measured), middle(simulated),
                            closed_form.empty() ? std::nullopt : std::optional(middle(closed_form))};
  cell.simulated_speed = middle(speeds);
}

double noise_of(const std::vector<BenchReference>& references) {
  double noise = 0;
  for (const BenchReference& reference : references)
    noise = std::max({noise, std::fabs(reference.second.low - 1), std::fabs(reference.second.high - 1)});
  return noise;
}

}  // namespace plumbline
