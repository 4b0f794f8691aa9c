#include "reports/run_speed.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "support/median.hpp"

namespace plumbline {
namespace {

/// Share of each timed step that a rank spent in recording it; empty where a step does not say.
std::vector<double> recording_shares(const RankRecord& rank, std::int64_t first_step) {
  std::vector<double> shares;
  for (const StepRow& row : rank.steps) {
    if (row.step == first_step) continue;
    if (!row.recording_seconds || !row.seconds || !(*row.seconds > 0)) return {};
    shares.push_back(*row.recording_seconds / *row.seconds);
  }
  return shares;
}

}  // namespace

std::optional<RunSpeed> run_speed(const Record& record) {
  const std::int64_t first_step = record.manifest.first_step;
  std::map<std::int64_t, double> seconds;  // by step, the slowest rank's
  std::map<std::int64_t, std::int64_t> tokens;
  RunSpeed speed;
  for (const RankRecord& rank : record.ranks) {
    for (const StepRow& row : rank.steps) {
      if (row.step == first_step || !row.seconds || !(*row.seconds > 0)) continue;
      seconds[row.step] = std::max(seconds[row.step], *row.seconds);
      tokens[row.step] = row.tokens;
    }
    const auto shares = recording_shares(rank, first_step);
    if (!shares.empty()) speed.recording = std::max(speed.recording.value_or(0), *median_of(shares));
  }
  if (seconds.empty()) return std::nullopt;
  std::vector<double> rates;
  for (const auto& [step, lasted] : seconds) rates.push_back(static_cast<double>(tokens.at(step)) / lasted);
  speed.steps = std::ssize(rates);
  speed.tokens_per_s = *median_of(rates);
  return speed;
}

}  // namespace plumbline
