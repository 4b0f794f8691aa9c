// SPDX-License-Identifier: BSD-3-Clause
// What is said of a run that did not end well.
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
  std::vector<RankSight> sights;            ///< the ranks before anything was ended by us
  bool any_seen = false;                    ///< a rank's process, or its folder
  std::optional<int> own_signal = {};       ///< that ended the command, where it is a rank itself
  std::optional<int> launcher_signal = {};  ///< that ended the command, where it is not
  bool launcher_stopped = false;            ///< it stood still when the run was ended
  bool by_itself = false;                   ///< the command ended unasked by us
  /// Of stderr.txt when the command was asked to end, where that was for the time limit: what it says to that explains
  /// nothing.
  std::optional<std::uintmax_t> said_before = {};
};

bool all_ended_well(const std::vector<RankSight>& sights);

/// Fills in `started`, `culprit_rank` and `words` from exit code and time limit, what the ranks were seen doing and
/// what stands in the launch's stderr.txt.
void explain(LaunchEnd end, LaunchFinding& finding);

}  // namespace plumbline
