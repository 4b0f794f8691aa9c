// SPDX-License-Identifier: BSD-3-Clause
// Detects failures of the launcher itself, which are the machine's fault and not the trainer's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace plumbline {

/// The observations of an ended launch that concern its launcher.
struct LauncherSight {
  std::string launcher;        ///< "mpirun"
  std::string program;         ///< the started program: "plumbline-pipeline"
  std::int64_t requested = 0;  ///< requested ranks
  std::int64_t processes = 0;  ///< observed processes of the program
  bool any_rank = false;       ///< a rank left traces in the record
  /// Number of ranks in the record if they are processes; nullopt if they are threads or it is unknown.
  std::optional<std::int64_t> world_size;
  int exit_code = 0;
  bool timed_out = false;
  std::string errors;  ///< stderr of launcher and program
  std::string folder;  ///< folder of command and output
};

/// Says what the launcher did, with evidence and advice; nullopt if the launcher worked. Distinguishes: too few slots,
/// one process instead of several, processes that each act as a single rank (mpirun of another MPI), fewer or more
/// ranks, nothing started, with exit code 0 or another.
std::optional<std::string> launcher_fault(const LauncherSight& sight);

}  // namespace plumbline
