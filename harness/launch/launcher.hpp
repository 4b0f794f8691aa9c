// SPDX-License-Identifier: BSD-3-Clause
// Starts one run, watches its ranks, and removes everything but its record and output.
#pragma once

#include <filesystem>
#include <string>

#include "harness/launch/launch.hpp"
#include "harness/launch/stop_signals.hpp"
#include "record/launch_finding.hpp"

namespace plumbline {

/// Runs the command in its own session, with OMP_NUM_THREADS=1, the environment of launchers (mpi_launcher.hpp), and a
/// temporary folder that is removed with its contents. Keeps the first 8 MiB and the last part of its output. Every 20
/// ms it checks that each rank lives; a rank that disappears without its exit.json, the time
/// limit, or a stop signal ends the whole tree. Returns when no process is left. `exit_code` is the command's, or 128 +
/// the signal that ended it. Throws SystemError: the program is missing (naming its package) or cannot be started, the
/// disk is full, the launcher failed (launcher_fault.hpp).
LaunchFinding launch(const Launch& launch, StopSignals& signals);

/// A program's path, searched on PATH as a shell does. Throws SystemError naming it, with advice on installing it.
std::filesystem::path find_program(const std::string& name);

/// A port of the loopback interface that is currently free, for the ranks' rendezvous. Throws SystemError if there is
/// none.
std::int64_t free_port();

}  // namespace plumbline
