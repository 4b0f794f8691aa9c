// Ranks that are MPI processes; payloads lie in host memory.
#pragma once

#include <memory>

#include "pipeline/transport/transport.hpp"

namespace plumbline {

/// Starts MPI where nobody has (then `finish` ends it), with the thread that calls it as the only one to use MPI. Sends
/// are synchronous (MPI_Issend), so that no run passes thanks to buffering which another transport lacks. Throws
/// SystemError when MPI's thread support falls short, RunError with the library's own text when a call fails.
std::unique_ptr<Transport> make_mpi_transport(TransportSettings settings);

}  // namespace plumbline
