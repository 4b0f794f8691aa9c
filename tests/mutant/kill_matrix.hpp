// SPDX-License-Identifier: BSD-3-Clause
// What became of each planted fault, as a table (scripts/matrix-page makes a page of it).
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

/// A row for each trial: name, fault, run, schedule, world, expected, killed, red, place_right, first.
void write_kill_matrix(const std::filesystem::path& file, const std::vector<Trial>& trials);

}  // namespace plumbline::mutant
