// SPDX-License-Identifier: BSD-3-Clause
// Starts one run, watches its ranks, and leaves nothing of it behind but its record and its output.
#pragma once

#include <filesystem>
#include <string>

#include "harness/launch/launch.hpp"
#include "harness/launch/stop_signals.hpp"
#include "record/launch_finding.hpp"

namespace plumbline {

/// Runs the command in a session of its own, with OMP_NUM_THREADS=1, what launchers want (mpi_launcher.hpp), and a
/// temporary folder that is removed with all that was put there. Of its output the first 8 MiB and the last are kept.
/// Every glance (20 ms) reads each rank's VmHWM and whether it lives; a rank that goes without its exit.json, the time
/// limit, and a stop signal each end the whole tree. Returns when no process of it is left. `exit_code` is the
/// command's, or 128 + the signal that ended it. Throws SystemError: the program is missing (naming its package) or
/// cannot be started, the disk is full, the launcher did not start what it was to (launcher_fault.hpp).
LaunchFinding launch(const Launch& launch, StopSignals& signals);

/// A program's path, searched on PATH as a shell does. Throws SystemError naming it, and how to come by it.
std::filesystem::path find_program(const std::string& name);

}  // namespace plumbline
