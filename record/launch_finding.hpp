// SPDX-License-Identifier: BSD-3-Clause
// finding.json: how a run that somebody started ended, as seen from outside. Launcher and judge share it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

/// What the launcher saw of a run that a record cannot tell itself.
struct LaunchFinding {
  bool started = true;
  bool timed_out = false;
  bool interrupted = false;
  int exit_code = 0;
  std::optional<std::int64_t> culprit_rank;
  std::string words;  ///< "rank 2 was killed by signal 9 while in 2B3; ranks 0, 1, 3 waited for it"
  std::vector<std::int64_t>
      process_peak_bytes;  ///< VmHWM of each rank as the launcher read it; empty when it could not
  std::vector<std::int64_t>
      process_private_bytes;  ///< of each rank the most RssAnon + RssShmem that was seen; empty as above
  double seconds = 0;
};

Json to_json(const LaunchFinding& finding);

/// Throws InputError naming the file: it is not there, no JSON, or not as to_json writes it.
LaunchFinding read_launch_finding(const std::filesystem::path& file);

}  // namespace plumbline
