// Starts one run, watches its ranks, and leaves nothing of it behind but its record and its output.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/launch/stop_signals.hpp"
#include "record/launch_finding.hpp"

namespace plumbline {

struct Launch {
  std::vector<std::string> command;                     ///< program (searched on PATH) and arguments
  std::filesystem::path folder;                         ///< exists; stdout.txt and stderr.txt are written into it
  std::map<std::string, std::string> environment = {};  ///< beside plumbline's own
  std::filesystem::path working_folder = {};            ///< empty = plumbline's own
  std::filesystem::path record;  ///< where the ranks' progress pages appear: <record>/rank-<r>/progress
  std::int64_t ranks = 0;        ///< how many of them to watch; 0 = none (a question, not a run)
  /// What the command is to start so many of, as it stands in it; empty = the command is the trainer itself.
  std::string program = {};
  std::string speaker;  ///< name that the trainer's messages begin with; empty = it is not known
  std::chrono::milliseconds time_limit{std::chrono::minutes(10)};
  std::chrono::milliseconds grace{1000};  ///< between asking the tree to end and ending it
  std::function<void()> at_glance;        ///< called every 20 ms while it runs; must not throw
};

/// Runs the command in a session of its own, with OMP_NUM_THREADS=1, what launchers want (mpi_launcher.hpp), and a
/// temporary folder that is removed with all that was put there. Of its output the first 8 MiB and the last are kept.
/// Every glance (20 ms) reads each rank's VmHWM and whether it lives; a rank that goes without its exit.json, the time
/// limit, and a stop signal each end the whole tree. Returns when no process of it is left. `exit_code` is the
/// command's, or 128 + the signal that ended it. Throws SystemError: the program is missing (naming its package) or
/// cannot be started, the disk is full, the launcher did not start what it was to (launcher_fault.hpp).
LaunchFinding launch(const Launch& launch, StopSignals& signals);

/// A program's path, searched on PATH as a shell does. Throws SystemError naming it, and how to come by it.
std::filesystem::path find_program(const std::string& name);

/// What a program said last: the last line of `output` that begins with "<program>: ", else the last that is neither
/// blank nor a rule of dashes; empty when there is none.
std::string last_words(const std::filesystem::path& output, const std::string& program);

}  // namespace plumbline
