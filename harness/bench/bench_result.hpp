// SPDX-License-Identifier: BSD-3-Clause
// What `plumbline bench` measured (docs/bench.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

/// A median with the interval that holds it.
struct MedianInterval {
  double median = 0, low = 0, high = 0;
};

/// One run of one round.
struct BenchRoundFigures {
  double step_ms = 0;  ///< the median step
  double tokens_per_s = 0;
  std::optional<double> speed;  ///< of a cell: tokens/s over those of the reference of the same round
};

struct BenchReference {
  std::string id;
  std::vector<BenchRoundFigures> rounds;
  MedianInterval step_ms;
  MedianInterval second;  ///< tokens/s of a second run of it in the same round over those of the first: 1 but for noise
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
  MedianInterval speed;               ///< tokens/s over those of the reference of the same round
  std::optional<BenchBubble> bubble;  ///< from 2 ranks on
  /// Speed that the schedule allows: of the simulated step with the measured times of its own actions.
  std::optional<double> simulated_speed;
};

struct BenchResult {
  std::string name, started;
  Json machine = nullptr;  ///< device, machine, versions, environment of the first reference's manifest
  std::int64_t cores = 0, rounds = 0, steps = 0;
  double coverage = 0;     ///< of the intervals: 0.95, or less where there are too few rounds
  double noise = 0;        ///< share by which the median of equal programs' ratios may lie off 1
  double quiet_limit = 0;  ///< above it a machine is not quiet
  std::vector<BenchReference> references;
  std::vector<BenchCell> cells;
  std::vector<std::string> failed;  ///< what did not end well, and why

  /// A second reference was as fast as the first.
  bool quiet() const { return noise <= quiet_limit; }
};

}  // namespace plumbline
