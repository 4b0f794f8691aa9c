// Speed against the world size: tokens per second, bubble, and what recording cost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

/// One run.
struct SpeedPoint {
  std::int64_t world = 0;
  double tokens_per_s = 0;
  std::optional<double> bubble = {}, planned_bubble = {};  ///< shares, as in MeasuredTimeline
  std::optional<double> recording = {};                    ///< share, as in RunSpeed
};

struct SpeedSeries {
  std::string schedule;
  std::vector<SpeedPoint> points;  ///< by world size
};

/// Three panels side by side with one legend: a sign for each run, with a dashed line at the reference's tokens per
/// second, and for bubbles a line where the simulated schedule has them. Where world sizes go beyond `cores`, a line
/// stands between. Records from before recording was timed have no third panel. An SVG element.
std::string draw_speeds(const std::vector<SpeedSeries>& series, const std::optional<double>& reference_tokens_per_s,
                        const std::optional<std::int64_t>& cores, const std::string& title);

}  // namespace plumbline
