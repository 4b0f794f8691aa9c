// SPDX-License-Identifier: BSD-3-Clause
// What starts MPI's ranks where a sweep file names no launcher.
#pragma once

#include <string>

namespace plumbline {

/// launcher_command (mpi_launcher.hpp) of what this machine has: mpirun, mpiexec, or srun inside of a job of Slurm's;
/// asked once, and none of them started but for its version. That of Open MPI 4 where there is none, or one that is
/// unknown.
const std::string& default_launcher();

}  // namespace plumbline
