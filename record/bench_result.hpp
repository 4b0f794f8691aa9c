// What `plumbline bench` measured: bench.json, schema plumbline-bench/1 (docs/bench.md). Written by harness/bench, read
// by baselines and histories.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

inline constexpr const char* bench_schema = "plumbline-bench/1";

/// A median with the interval that holds it.
struct MedianInterval {
  double median = 0, low = 0, high = 0;
};

struct BenchReference {
  std::string id;
  Json request = nullptr;
  MedianInterval step_ms, tokens_per_s;
  MedianInterval second;  ///< tokens/s of a second run of it in the same round over those of the first: 1 but for noise
};

struct BenchBubble {
  MedianInterval measured;
  double simulated = 0;
  std::optional<double> closed_form;
};

struct BenchCell {
  std::string id, reference, schedule;
  std::int64_t world = 0;
  Json request = nullptr;
  bool oversubscribed = false;  ///< more ranks than cores: no efficiency can be told
  MedianInterval step_ms, tokens_per_s;
  MedianInterval speed;                      ///< tokens/s over those of the reference of the same round
  std::vector<double> round_speeds;          ///< the same of each round, in their order
  double fast_speed = 0;                     ///< the same of each one's fastest tenth of all steps
  std::optional<MedianInterval> efficiency;  ///< speed over world size
  std::optional<BenchBubble> bubble;         ///< from 2 ranks on
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

Json to_json(const BenchResult& result);
/// Throws InputError naming file and key.
BenchResult read_bench_result(const std::filesystem::path& file);

}  // namespace plumbline
