// MPI's start, end and error codes.
#pragma once

#include <string>

namespace plumbline {

/// Throws RunError with the call's name and the library's own text unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// Starts MPI where nobody has; whether it did, and so has to call finalise_mpi. Throws SystemError when MPI was ended
/// already or its threads are below MPI_THREAD_FUNNELED. Errors are returned from then on, not fatal.
bool initialise_mpi();
void finalise_mpi();

/// "Open MPI v4.1.4": of the library that runs, up to its first comma.
std::string mpi_version();

/// Whether all processes run on one host, and so read one monotonic clock. Collective.
bool all_on_one_host();

/// MPI_Abort on all processes; the launcher sees this exit code.
void abort_mpi(int exit_code) noexcept;

}  // namespace plumbline
