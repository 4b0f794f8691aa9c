// What became of each planted fault: a table, and shares with their intervals.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace plumbline::mutant {

/// One planted fault at one place; `fault` is empty for a harmless change.
struct Trial {
  std::string name, fault, run, schedule;
  std::int64_t world = 0;
  std::string expected;           ///< the check that is to be red
  std::vector<std::string> red;   ///< those that were
  std::string first;              ///< where the expected one's first divergence is, in words
  bool place_asked = false;       ///< a place was expected
  bool place_right = false;       ///< and it was there
  bool ended_as_expected = true;  ///< exit code and what the trainer said

  bool harmless() const { return expected.empty(); }
  bool killed() const;
};

/// Exact interval of a share (Clopper and Pearson 1934) that holds it with 95 %: `hits` of `trials`, at least one.
struct ShareInterval {
  double low = 0, high = 1;
};
ShareInterval clopper_pearson(std::int64_t hits, std::int64_t trials);

/// A row for each trial: name, fault, run, schedule, world, expected, killed, red, place_right, first.
void write_kill_matrix(const std::filesystem::path& file, const std::vector<Trial>& trials);

/// "54 of 54 faults were killed by their check (95 %: 0.934 to 1), ..., survivors: ...".
std::string kill_summary(const std::vector<Trial>& trials);

}  // namespace plumbline::mutant
