// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/mpi_transport.hpp"

#include "pipeline/transport/message_transport.hpp"
#include "pipeline/transport/mpi_link.hpp"
#include "pipeline/transport/transport_settings.hpp"

namespace plumbline {

std::unique_ptr<Transport> make_mpi_transport(TransportSettings settings, EndJob end_job) {
  return std::make_unique<MessageTransport>(make_mpi_link(std::move(end_job)), settings);
}

}  // namespace plumbline
