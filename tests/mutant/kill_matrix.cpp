#include "tests/mutant/kill_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "support/csv.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace plumbline::mutant {
namespace {

/// Of `trials` with probability `share`, at least `hits`: summed from logarithms, so that no factor underflows.
double at_least(std::int64_t hits, std::int64_t trials, double share) {
  double sum = 0;
  for (std::int64_t k = hits; k <= trials; ++k) {
    const auto n = static_cast<double>(trials), of = static_cast<double>(k);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(of + 1) - std::lgamma(n - of + 1) + of * std::log(share) +
                    (n - of) * std::log1p(-share));
  }
  return sum;
}

/// Where a function that grows with the share passes `value`.
template <typename Function>
double where_it_is(double value, const Function& function) {
  double low = 0, high = 1;
  for (int turn = 0; turn < 60; ++turn) {
    const double middle = (low + high) / 2;
    (function(middle) < value ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::string share_text(std::int64_t hits, std::int64_t trials) {
  std::ostringstream text;
  text.precision(3);
  text << hits << " of " << trials;
  if (trials == 0) return text.str();
  const ShareInterval interval = clopper_pearson(hits, trials);
  text << " (95 %: " << interval.low << " to " << interval.high << ")";
  return text.str();
}

}  // namespace

bool Trial::killed() const {
  return std::ranges::find(red, expected) != red.end() && ended_as_expected;
}

ShareInterval clopper_pearson(std::int64_t hits, std::int64_t trials) {
  constexpr double tail = 0.025;
  ShareInterval interval;
  if (hits > 0) interval.low = where_it_is(tail, [&](double share) { return at_least(hits, trials, share); });
  if (hits < trials)
    interval.high = where_it_is(1 - tail, [&](double share) { return at_least(hits + 1, trials, share); });
  return interval;
}

void write_kill_matrix(const std::filesystem::path& file, const std::vector<Trial>& trials) {
  std::string text =
      csv_line({"name", "fault", "run", "schedule", "world", "expected", "killed", "red", "place_right", "first"});
  for (const Trial& trial : trials) {
    text += csv_line({trial.name, trial.fault, trial.run, trial.schedule, std::to_string(trial.world), trial.expected,
                      trial.harmless() ? "" : (trial.killed() ? "true" : "false"), join(trial.red, " "),
                      trial.place_asked ? (trial.place_right ? "true" : "false") : "", trial.first});
  }
  write_file(file, text);
}

std::string kill_summary(const std::vector<Trial>& trials) {
  std::int64_t faults = 0, killed = 0, placed = 0, right = 0, harmless = 0, alarms = 0;
  std::vector<std::string> survivors;
  for (const Trial& trial : trials) {
    if (trial.harmless()) {
      ++harmless;
      if (!trial.red.empty()) ++alarms;
      continue;
    }
    ++faults;
    if (trial.killed()) ++killed;
    if (!trial.killed()) survivors.push_back(trial.name);
    if (trial.place_asked) ++placed;
    if (trial.place_right) ++right;
  }
  return share_text(killed, faults) + " faults were killed by the check named for them, at the right place in " +
         share_text(right, placed) + "; false alarms in " + share_text(alarms, harmless) + " harmless changes" +
         (survivors.empty() ? "" : "; SURVIVORS: " + join(survivors, ", "));
}

}  // namespace plumbline::mutant
