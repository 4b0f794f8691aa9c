// SPDX-License-Identifier: BSD-3-Clause
// MPI initialization, finalization and error codes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace plumbline {

/// Throws RunError with the call's name and MPI's error text unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// Initializes MPI unless it already is; returns whether it did, in which case the caller must call finalize_mpi.
/// Throws SystemError if MPI was already finalized or its thread level is below MPI_THREAD_FUNNELED. From then on MPI
/// calls return errors instead of aborting.
bool initialize_mpi();
void finalize_mpi();

/// "Open MPI v4.1.4", "MPICH 4.0.2": the loaded library's version text up to its first comma.
std::string mpi_version();

struct ForeignLauncher {
  std::int64_t rank = 0;  ///< the rank that the launcher gave this process
  std::string words;      ///< what was found, and what to do
};

/// Set if this process is alone in its MPI world although its launcher started several: the launcher belongs to another
/// MPI, and every process would be rank 0 of 1.
std::optional<ForeignLauncher> foreign_launcher(int world_size);

/// Whether all processes run on one host and so share one monotonic clock. Collective.
bool all_on_one_host();

/// MPI_Abort on all processes; the launcher sees this exit code.
void abort_mpi(int exit_code) noexcept;

}  // namespace plumbline
