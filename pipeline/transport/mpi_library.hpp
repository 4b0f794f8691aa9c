// SPDX-License-Identifier: BSD-3-Clause
// MPI's start, end and error codes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace plumbline {

/// Throws RunError with the call's name and the library's own text unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// Starts MPI where nobody has; whether it did, and so has to call finalise_mpi. Throws SystemError when MPI was ended
/// already or its threads are below MPI_THREAD_FUNNELED. Errors are returned from then on, not fatal.
bool initialise_mpi();
void finalise_mpi();

/// "Open MPI v4.1.4", "MPICH 4.0.2": of the library that runs, up to its first comma.
std::string mpi_version();

struct ForeignLauncher {
  std::int64_t rank = 0;  ///< that it gave this process
  std::string words;      ///< what was found, and what to do
};

/// Where this process is alone in its MPI world, but its launcher says that it started several: it belongs to another
/// MPI, and each of them takes itself for rank 0 of 1.
std::optional<ForeignLauncher> foreign_launcher(int world_size);

/// Whether all processes run on one host, and so read one monotonic clock. Collective.
bool all_on_one_host();

/// MPI_Abort on all processes; the launcher sees this exit code.
void abort_mpi(int exit_code) noexcept;

}  // namespace plumbline
