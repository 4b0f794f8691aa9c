// SPDX-License-Identifier: BSD-3-Clause
// Results of `plumbline bench` (docs/bench.md), and their text and JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

/// A median with its confidence interval.
struct MedianInterval {
  double median = 0, low = 0, high = 0;
};

/// One run of one round.
struct BenchRoundFigures {
  double step_ms = 0;  ///< the median step
  double tokens_per_s = 0;
  std::optional<double> speed;  ///< of a case: tokens/s relative to the reference of the same round
};

struct BenchReference {
  std::string id;
  std::vector<BenchRoundFigures> rounds;
  MedianInterval step_ms;
  MedianInterval second;  ///< tokens/s of a second run in the same round relative to the first: 1 except for noise
};

struct BenchBubble {
  MedianInterval measured;
  double simulated = 0;
};

struct BenchCell {
  std::string id;
  std::int64_t world = 0;
  bool oversubscribed = false;  ///< more ranks than cores: the figures describe the machine
  std::vector<BenchRoundFigures> rounds;
  MedianInterval step_ms;
  MedianInterval speed;               ///< tokens/s relative to the reference of the same round
  std::optional<BenchBubble> bubble;  ///< from 2 ranks on
  /// Speed limit by the schedule: of the simulated step with the measured times of its actions.
  std::optional<double> simulated_speed;
};

struct BenchResult {
  std::string name, started;
  Json machine = nullptr;  ///< device, machine, versions, environment of the first reference's manifest
  std::int64_t cores = 0, rounds = 0, steps = 0;
  double coverage = 0;     ///< confidence of the intervals: 0.95, or less with too few rounds
  double noise = 0;        ///< relative deviation from 1 of the median ratio of equal programs
  double quiet_limit = 0;  ///< a machine with more noise is not quiet
  std::vector<BenchReference> references;
  std::vector<BenchCell> cells;
  std::vector<std::string> failed;  ///< runs that did not end well, and why

  /// True if second runs of references were as fast as the first.
  bool quiet() const { return noise <= quiet_limit; }
};

/// States whether the machine was quiet, followed by a Markdown table with a row per case.
std::string bench_text(const BenchResult& result);

/// The same for a terminal: some lines per reference and case.
std::string bench_lines(const BenchResult& result);

/// JSON in the format of Google Benchmark, for its tools/compare.py: a benchmark per reference and case, an entry per
/// round. `real_time` is the median step of the round in milliseconds; `cpu_time`, which compare.py requires, repeats
/// it. Counters: tokens_per_s and, for cases, speed (tokens/s relative to the reference of the round).
Json google_benchmark_json(const BenchResult& result);

}  // namespace plumbline
