// SPDX-License-Identifier: BSD-3-Clause
// Whether it was the launcher, and not what it was to start, that kept a run from being: the machine's fault, not the
// trainer's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace plumbline {

/// A launch that has ended, as far as it tells of its launcher.
struct LauncherSight {
  std::string launcher;        ///< "mpirun"
  std::string program;         ///< what it was to start: "plumbline-pipeline"
  std::int64_t asked = 0;      ///< ranks
  std::int64_t processes = 0;  ///< of the program that were seen
  bool any_rank = false;       ///< some rank left a trace in the record
  /// That the record claims, where its ranks are processes; nothing where they are threads or it does not tell.
  std::optional<std::int64_t> world_size;
  int exit_code = 0;
  bool timed_out = false;
  std::string said;    ///< on stderr, by launcher and program
  std::string folder;  ///< where command and output lie
};

/// What the launcher did, what was seen of it, and what to do; nothing where the launcher did its work. Told apart: too
/// few slots, one process in place of several, processes that each think they are alone (mpirun of another MPI), fewer
/// or more ranks, nothing started with exit code 0 or another.
std::optional<std::string> launcher_fault(const LauncherSight& sight);

}  // namespace plumbline
