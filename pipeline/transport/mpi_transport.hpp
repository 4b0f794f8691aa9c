// SPDX-License-Identifier: BSD-3-Clause
// A transport between MPI processes; payloads are in host memory.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "pipeline/transport/endpoint.hpp"
#include "pipeline/transport/transport.hpp"

namespace plumbline {

/// Ends the job on all ranks.
using EndJob = std::function<void(const std::string& reason)>;

/// MPI counts are int, so longer bodies are sent in parts of this size.
inline constexpr std::size_t largest_mpi_part_bytes = std::size_t{1} << 30;

/// Collective. Initializes MPI unless it already is (then `close` finalizes it); only the calling thread uses MPI.
/// Sends are synchronous (MPI_Issend), so that no run succeeds only because of buffering that another transport lacks.
/// Throws SystemError if MPI's thread support is insufficient, RunError with MPI's error text if a call fails.
/// `end_job` replaces MPI_Abort, for tests.
std::unique_ptr<Endpoint> make_mpi_endpoint(EndJob end_job = {}, std::size_t part_bytes = largest_mpi_part_bytes);

std::unique_ptr<Transport> make_mpi_transport(TransportSettings settings, EndJob end_job = {});

}  // namespace plumbline
