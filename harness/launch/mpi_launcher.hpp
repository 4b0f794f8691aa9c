// SPDX-License-Identifier: BSD-3-Clause
// The programs that start MPI's ranks, told apart: which words and variables each of them wants is said here alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace plumbline {

/// What Open MPI and MPICH call theirs.
inline constexpr const char* mpirun = "mpirun";

enum class MpiLauncher : std::int8_t { open_mpi_4, open_mpi_5, mpich, slurm, unknown };

/// From what the program answers to --version.
MpiLauncher mpi_launcher_of(const std::string& version);

/// The command that starts {world} ranks on this machine, with `program` as its first word: more ranks than cores, none
/// bound to one, shared memory alone. Empty for one that is unknown.
std::string launcher_command(MpiLauncher kind, const std::string& program);

/// Variables that launchers and their ranks are to find: `scratch` is the folder for what they put into temporary
/// places. A variable of another launcher's does no harm.
std::map<std::string, std::string> launcher_environment(const std::string& scratch, bool as_root);

/// "install the Debian package openmpi-bin": how to come by a program that is missing.
std::string how_to_install(const std::string& program);

}  // namespace plumbline
