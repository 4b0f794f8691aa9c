// SPDX-License-Identifier: BSD-3-Clause
// The default MPI launcher, for sweep files without one.
#pragma once

#include <string>

namespace plumbline {

/// launcher_command (mpi_launcher.hpp) of this machine's launcher: mpirun, mpiexec, or srun inside of a Slurm job.
/// Cached; only runs them with --version. Open MPI 4's if none is found or it is unknown.
const std::string& default_launcher();

}  // namespace plumbline
