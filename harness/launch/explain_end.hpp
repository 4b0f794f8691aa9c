// SPDX-License-Identifier: BSD-3-Clause
// Explanation of a run that crashed or timed out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/launch/diagnosis.hpp"
#include "harness/launch/launch.hpp"
#include "record/launch_finding.hpp"

namespace plumbline {

struct LaunchEnd {
  const Launch& launch;
  std::vector<RankSight> sights;            ///< the ranks before we ended any process
  bool any_seen = false;                    ///< a rank's process or folder was seen
  std::optional<int> own_signal = {};       ///< signal that ended the command, if it is itself a rank
  std::optional<int> launcher_signal = {};  ///< signal that ended the command, if it is a launcher
  bool launcher_stopped = false;            ///< it was stopped (SIGSTOP) when the run was ended
  bool by_itself = false;                   ///< the command ended by itself
  /// Size of stderr.txt when the command was ended for the time limit: later output is only its reaction.
  std::optional<std::uintmax_t> said_before = {};
};

bool all_ended_well(const std::vector<RankSight>& sights);

/// Sets `started`, `culprit_rank` and `words` from the exit code, the time limit, the last observed actions of the
/// ranks and the launch's stderr.txt.
void explain(LaunchEnd end, LaunchFinding& finding);

}  // namespace plumbline
