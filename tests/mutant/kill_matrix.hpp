// SPDX-License-Identifier: BSD-3-Clause
// The result of each injected fault, as a table (scripts/matrix-page makes a page of it).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace plumbline::mutant {

/// One injected fault at one place; `fault` is empty for an equivalent change.
struct Trial {
  std::string name, fault, run, schedule;
  std::int64_t world = 0;
  std::string expected;           ///< the check that must fail
  std::vector<std::string> red;   ///< the checks that failed
  std::string first;              ///< the expected check's first divergence, as text
  bool place_asked = false;       ///< a place was expected
  bool place_right = false;       ///< the divergence was there
  bool ended_as_expected = true;  ///< exit code and output of the trainer

  bool harmless() const { return expected.empty(); }
  bool killed() const;
};

/// A row for each trial: name, fault, run, schedule, world, expected, killed, red, place_right, first.
void write_kill_matrix(const std::filesystem::path& file, const std::vector<Trial>& trials);

}  // namespace plumbline::mutant
