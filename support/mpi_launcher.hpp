// SPDX-License-Identifier: BSD-3-Clause
// MPI launchers: the only place with the options and variables of each of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace plumbline {

/// The launchers' names in Open MPI and MPICH.
inline constexpr const char* mpirun = "mpirun";

enum class MpiLauncher : std::int8_t { open_mpi_4, open_mpi_5, mpich, slurm, unknown };

/// From the program's output with --version.
MpiLauncher mpi_launcher_of(const std::string& version);

/// The command that starts {world} ranks on this machine with `program` as its first word: allows more ranks than
/// cores, binds none, uses only shared memory. Empty for an unknown launcher.
std::string launcher_command(MpiLauncher kind, const std::string& program);

/// Environment of launchers and ranks: `scratch` is their folder for temporary files, if not empty. Variables for other
/// launchers are harmless.
std::map<std::string, std::string> launcher_environment(const std::string& scratch, bool as_root);

/// Variables of Open MPI 4 and 5 that keep ranks from reading each other's memory, for machines that do not allow it
/// (single_copy.hpp).
std::map<std::string, std::string> single_copy_variables();

/// "install the Debian package openmpi-bin": advice for a missing program.
std::string how_to_install(const std::string& program);

}  // namespace plumbline
