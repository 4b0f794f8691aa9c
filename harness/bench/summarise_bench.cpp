// SPDX-License-Identifier: BSD-3-Clause
#include "harness/bench/summarise_bench.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "record/mesh.hpp"
#include "record/record.hpp"
#include "reports/measured_timeline.hpp"
#include "support/error.hpp"

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

OrderStatistics order_statistics_of_median(std::size_t count) {
  constexpr double wanted = 0.95;
  // Probability that the median is outside: twice the lower tail, at k - 1, of `count` tosses of a fair coin.
  double term = std::pow(0.5, static_cast<double>(count)), tail = 0;
  OrderStatistics best{0, count < 2 ? 0 : 1 - 2 * term};
  for (std::size_t k = 0; 2 * (k + 1) <= count; ++k) {
    tail += term;
    if (1 - 2 * tail < wanted) break;
    best = {k, 1 - 2 * tail};
    term *= static_cast<double>(count - k) / static_cast<double>(k + 1);
  }
  return best;
}

MedianInterval median_interval(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t count = values.size(), outer = order_statistics_of_median(count).from_end;
  const double median = count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
  return {median, values[outer], values[count - 1 - outer]};
}

BenchRound measure_round(const std::filesystem::path& record) {
  std::vector<Record> replicas;
  for (const auto& folder : replica_folders(record)) replicas.push_back(read_record(folder));
  if (replicas.empty()) replicas.push_back(read_record(record));
  BenchRound round;
  std::map<std::int64_t, double> seconds;
  for (const Record& replica : replicas) {
    for (const RankRecord& rank : replica.ranks) {
      for (const StepRow& row : rank.steps) {
        if (row.step == 0) continue;  // warm-up
        seconds[row.step] = std::max(seconds[row.step], row.seconds.value_or(0));
        round.tokens = std::max(round.tokens, static_cast<double>(row.tokens));
      }
    }
  }
  for (const auto& [step, longest] : seconds)
    if (longest > 0) round.steps_ms.push_back(1e3 * longest);
  if (round.steps_ms.empty())
    throw InputError(record.string() +
                     ": has only the first step, which warms up; a bench needs train.steps of 2 or more");
  const Record& first = replicas.front();
  if (first.ranks.size() < 2) return round;
  const MeasuredTimeline timeline = measure_timeline(first);
  round.timeline = BenchRound::Timeline{timeline.median_bubble_rate, timeline.planned.bubble_rate,
                                        timeline.median_makespan, timeline.planned.makespan};
  return round;
}

}  // namespace plumbline
