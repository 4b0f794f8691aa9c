// How fast a run was, by its own steps.csv.
#pragma once

#include <cstdint>
#include <optional>

#include "record/record.hpp"

namespace plumbline {

/// Medians over all steps but the first, which warms caches up.
struct RunSpeed {
  std::int64_t steps = 0;           ///< so many were timed
  double tokens_per_s = 0;          ///< a step lasts as long as its slowest rank's
  std::optional<double> recording;  ///< share of a step that the rank spent in recording it which spent most
};

/// Nothing where fewer than two steps have times.
std::optional<RunSpeed> run_speed(const Record& record);

}  // namespace plumbline
