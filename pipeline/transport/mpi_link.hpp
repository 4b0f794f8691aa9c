// SPDX-License-Identifier: BSD-3-Clause
// A link between MPI processes.
#pragma once

#include <cstddef>
#include <memory>

#include "pipeline/transport/link.hpp"
#include "pipeline/transport/mpi_transport.hpp"

namespace plumbline {

/// MPI counts are int, so larger messages are sent in parts of this size.
inline constexpr std::size_t largest_mpi_part_bytes = std::size_t{1} << 30;

/// Collective. `end_job` and errors: see make_mpi_transport.
std::unique_ptr<Link> make_mpi_link(EndJob end_job, std::size_t part_bytes = largest_mpi_part_bytes);

}  // namespace plumbline
