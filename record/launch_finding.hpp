// SPDX-License-Identifier: BSD-3-Clause
// finding.json: how a launched run ended, as seen from outside. Written by the launcher, read by the judge.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "support/json.hpp"

namespace plumbline {

/// What the launcher observed of a run and a record cannot contain.
struct LaunchFinding {
  bool started = true;
  bool timed_out = false;
  bool interrupted = false;
  int exit_code = 0;
  std::optional<std::int64_t> culprit_rank;
  std::string words;  ///< "rank 2 was killed by signal 9 while in 2B3; ranks 0, 1, 3 waited for it"
  double seconds = 0;

  bool ended_well() const { return exit_code == 0 && !timed_out; }
};

Json to_json(const LaunchFinding& finding);

/// Throws InputError naming the file if it is missing, no JSON, or not in the form of to_json.
LaunchFinding read_launch_finding(const std::filesystem::path& file);

}  // namespace plumbline
