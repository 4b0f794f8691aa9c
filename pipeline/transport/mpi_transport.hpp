// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are MPI processes; payloads lie in host memory.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "pipeline/transport/transport.hpp"
#include "pipeline/transport/transport_settings.hpp"

namespace plumbline {

/// What ends the job for all ranks.
using EndJob = std::function<void(const std::string& reason)>;

/// Collective. Starts MPI where nobody has (then `finish` ends it), with the thread that calls it as the only one to
/// use MPI. Sends are synchronous (MPI_Issend), so that no run passes thanks to buffering which another transport
/// lacks. Throws SystemError when MPI's thread support falls short, RunError with the library's own text when a call
/// fails. `end_job` in place of MPI_Abort is for tests of what comes before it.
std::unique_ptr<Transport> make_mpi_transport(TransportSettings settings, EndJob end_job = {});

}  // namespace plumbline
